import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AspiredModel } from "../../../src/serving/aspired-model.ts";
import { modelConfig } from "../../../src/serving/repository/config/model-config.ts";
import type { ModelSources } from "../../../src/serving/repository/config-sources.ts";
import { ModelRepository } from "../../../src/serving/repository/model-repository.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A repository whose files never become quiet, unless a scan takes them at once. */
function openRepository(sources: ModelSources) {
  const { log, events } = createEventLog();
  const repository = new ModelRepository(sources, { load: loadOptions(log), quietMs: 3_600_000, log });
  return {
    scan: async (options = {}) => brief(await repository.scan(options)),
    models: (options = {}) => repository.scan(options),
    /** Versions that could be loaded again. */
    present: async () =>
      (await repository.scan()).flatMap(({ name, present = [] }) => present.map((one) => `${name} ${one}`)),
    messages: () => events.map(({ msg }) => msg),
  };
}

/** Names with their versions. */
function brief(models: readonly AspiredModel[]): Record<string, string> {
  return Object.fromEntries(models.map(({ name, versions }) => [name, versions.map(({ version }) => version).join()]));
}

/** A configuration file with these models, as YAML. */
function configFile(...models: readonly object[]): string {
  return join(tempFolder({ "serving.yaml": toYaml(models) }), "serving.yaml");
}

function toYaml(models: readonly object[]): string {
  return JSON.stringify({ models });
}

test("a configuration file that is kept is read once", async () => {
  const folder = tempFolder({ "a/m.onnx": "", "b/m.onnx": "" });
  const [a, b] = ["a", "b"].map((name) => ({ name, path: join(folder, name) }));
  const file = configFile(a as object);
  const [kept, read] = [true, false].map((keepsFiles) => openRepository({ files: [file], keepsFiles }));
  for (const each of [kept, read]) expect(await each?.scan()).toEqual({ a: "1" });
  writeFileSync(file, toYaml([b as object]));
  expect(await kept?.scan({ atOnce: true })).toEqual({ a: "1" });
  expect(await read?.scan({ atOnce: true })).toEqual({ b: "1" });
});

describe("a folder of models", () => {
  const files = { "a/1/m.onnx": "1", "b/model.onnx": "b" };

  test("is scanned again: models and versions come once they are written, and go at once", async () => {
    const folder = tempFolder(files);
    const { scan } = openRepository({ folders: [folder] });
    expect(await scan()).toEqual({ a: "1", b: "1" });
    mkdirSync(join(folder, "a/2"));
    writeFileSync(join(folder, "a/2/m.onnx"), "2");
    expect(await scan()).toEqual({ a: "1", b: "1" });
    expect(await scan({ atOnce: true })).toEqual({ a: "2", b: "1" });
    rmSync(join(folder, "a/2"), { recursive: true });
    expect(await scan()).toEqual({ a: "1", b: "1" });
    rmSync(join(folder, "b"), { recursive: true });
    expect(await scan()).toEqual({ a: "1" });
  });

  test("keeps a version as it was while its files change", async () => {
    const folder = tempFolder(files);
    const { models } = openRepository({ folders: [folder] });
    const printOf = async (options = {}) => (await models(options))[0]!.versions[0]!.fingerprint;
    const before = await printOf();
    appendFileSync(join(folder, "a/1/m.onnx"), "more");
    expect(await printOf()).toBe(before);
    expect(await printOf({ atOnce: true })).not.toBe(before);
  });

  test("that is empty or gone keeps its models, and says so once", async () => {
    const folder = tempFolder(files);
    const { scan, messages, present } = openRepository({ folders: [folder] });
    expect(await present()).toEqual(["a 1", "b 1"]);
    renameSync(folder, `${folder}-away`);
    expect(await scan()).toEqual({ a: "1", b: "1" });
    expect(await present()).toEqual([]);
    mkdirSync(folder);
    expect(await scan()).toEqual({ a: "1", b: "1" });
    await scan();
    const [gone, ...others] = messages().map((each) => String(each).replaceAll(folder, "F"));
    expect(gone).toMatch(/^Its models are served as they were: The folder "F" does not exist/);
    expect(others.pop()).toMatch(/^Its models are served as they were: The folder "F" has no model, it is empty/);
    // Both are looked for at the same time.
    expect(others.toSorted()).toEqual([
      expect.stringMatching(/^The model a: The model "F\/a" does not exist/),
      expect.stringMatching(/^The model b: /),
    ]);
    rmSync(`${folder}-away`, { recursive: true });
  });

  test("keeps what a config.pbtxt said while it is broken", async () => {
    const folder = tempFolder({ ...files, "a/config.pbtxt": 'backend: "onnxruntime" version_policy { all {} }' });
    writeFileSync(join(mkdirSync(join(folder, "a/2"), { recursive: true }) as string, "model.onnx"), "");
    const { scan, messages } = openRepository({ folders: [folder] });
    expect(await scan()).toEqual({ a: "1,2", b: "1" });
    writeFileSync(join(folder, "a/config.pbtxt"), 'backend: "onnx');
    expect(await scan({ atOnce: true })).toEqual({ a: "1,2", b: "1" });
    expect(messages()).toEqual([expect.stringMatching(/^The model a is served as it was: .*config\.pbtxt:1:\d+/)]);
  });

  test("of one model that has a name counts under it, with what its config.pbtxt says", async () => {
    const said = 'name: "own" backend: "onnxruntime" version_policy { all {} }';
    const folder = tempFolder({ "1/m.onnx": "", "2/m.onnx": "", "config.pbtxt": said });
    const named = [
      { name: "mine", path: folder },
      { name: "file", path: join(folder, "1/m.onnx") },
      { name: "none", path: join(folder, "3") },
    ];
    const { scan, messages } = openRepository({ named });
    expect(await scan()).toEqual({ mine: "1,2", file: "1", none: "1" });
    writeFileSync(join(folder, "config.pbtxt"), 'backend: "onnx');
    expect(await scan({ atOnce: true })).toEqual({ mine: "1,2", file: "1", none: "1" });
    expect(messages()).toContainEqual(expect.stringMatching(/^The model mine is served as it was: .*:1:\d+/));
    writeFileSync(join(folder, "config.pbtxt"), "");
    expect(await scan({ atOnce: true })).toEqual({ mine: "2", file: "1", none: "1" });
  });

  test("serves the others where one cannot be read, loops or is a pipe", async () => {
    const folder = tempFolder({ ...files, "empty/.keep": "", "v1/v1/model.txt": "", "naïve 50%: x/1/m.onnx": "" });
    symlinkSync("loop", join(folder, "loop"));
    symlinkSync(folder, join(folder, "a/up"));
    const { scan, models } = openRepository({ folders: [folder] });
    expect(await scan()).toMatchObject({ a: "1", b: "1", "naïve 50%: x": "1" });
    const v1 = (await models()).find(({ name }) => name === "v1")!;
    await expect(v1.versions[0]!.load(new AbortController().signal)).rejects.toThrow(
      "has no version; expected folders of versions",
    );
  });
});

describe("a version", () => {
  test("that was there before is served at once, where the one above it goes", async () => {
    const folder = tempFolder({ "1/m.onnx": "1", "2/m.onnx": "2" });
    const models = [modelConfig({ name: "m", path: folder })];
    const { log } = createEventLog();
    const repository = new ModelRepository({ models }, { load: loadOptions(), quietMs: 1, log });
    const scan = async () => brief(await repository.scan());
    expect(await scan()).toEqual({ m: "2" });
    expect(await scan()).toEqual({ m: "2" });
    rmSync(join(folder, "2"), { recursive: true });
    expect(await scan()).toEqual({ m: "1" });
  });

  test("whose folder is renamed stays until the new one counts", async () => {
    const folder = tempFolder({ "1/m.onnx": "1" });
    const { scan } = openRepository({ models: [modelConfig({ name: "m", path: folder })] });
    expect(await scan()).toEqual({ m: "1" });
    renameSync(join(folder, "1"), join(folder, "2"));
    expect(await scan()).toEqual({ m: "1" });
    expect(await scan({ atOnce: true })).toEqual({ m: "2" });
  });

  test("goes where others are there that are not chosen", async () => {
    const folder = tempFolder({ "1/m.onnx": "1", "2/m.onnx": "2" });
    const versions = { kind: "specific", versions: [1n] } as const;
    const { scan } = openRepository({ models: [modelConfig({ name: "m", path: folder, versions })] });
    expect(await scan()).toEqual({ m: "1" });
    rmSync(join(folder, "1"), { recursive: true });
    expect(await scan()).toEqual({ m: "" });
  });

  test("goes with its folder, also the last one", async () => {
    const folder = tempFolder({ "1/m.onnx": "1" });
    const { scan, messages } = openRepository({ models: [modelConfig({ name: "m", path: folder })] });
    await scan();
    rmSync(join(folder, "1"), { recursive: true });
    expect(await scan()).toEqual({ m: "" });
    expect(messages()).toEqual([
      `The model m: The folder "${folder}" is empty; expected folders of versions, named by numbers such as 1, or one model.`,
    ]);
  });
});

// A link stands for the place where a disk is mounted.
test.runIf(otherDisk() !== undefined)(
  "a model whose disk is gone stays, unlike one whose folder is emptied",
  async () => {
    const disk = mkdtempSync(join(otherDisk() as string, "kserving-test-"));
    onTestFinished(() => rmSync(disk, { recursive: true }));
    mkdirSync(join(disk, "1"));
    writeFileSync(join(disk, "1/m.onnx"), "1");
    const path = join(tempFolder({ "empty/.keep": "" }), "m");
    const mount = (folder: string) => {
      rmSync(path, { force: true });
      symlinkSync(folder, path);
    };
    mount(disk);
    const { scan, present } = openRepository({ models: [modelConfig({ name: "m", path })] });
    expect(await scan()).toEqual({ m: "1" });
    mount("empty");
    expect(await scan()).toEqual({ m: "1" });
    expect(await present()).toEqual([]);
    mount(disk);
    expect(await present()).toEqual(["m 1"]);
    rmSync(join(disk, "1"), { recursive: true });
    expect(await scan()).toEqual({ m: "" });
  },
);

/** A folder on another disk than temporary folders are. */
function otherDisk(): string | undefined {
  const path = "/dev/shm";
  return existsSync(path) && statSync(path).dev !== statSync(tmpdir()).dev ? path : undefined;
}

describe("a configuration file", () => {
  const folder = () => tempFolder({ "1/m.onnx": "1", "2/m.onnx": "2" });

  test("is read again when it has changed and is written: models come and go, labels move", async () => {
    const path = folder();
    const file = configFile({ name: "m", path, versions: "all", labels: { stable: 1 }, "max-queue": 3 });
    const { scan, models } = openRepository({ files: [file] });
    expect(await models()).toMatchObject([{ name: "m", labels: { stable: 1n }, maxQueue: 3 }]);
    writeFileSync(
      file,
      toYaml([
        { name: "m", path, versions: "all", labels: { stable: 2 } },
        { name: "n", path },
      ]),
    );
    expect(await scan()).toEqual({ m: "1,2" });
    expect(await models({ atOnce: true })).toMatchObject([{ name: "m", labels: { stable: 2n } }, { name: "n" }]);
    writeFileSync(file, toYaml([{ name: "n", path }]));
    expect(await scan({ atOnce: true })).toEqual({ n: "2" });
  });

  test.each([
    ["gone", (file: string) => rmSync(file), "does not exist"],
    ["empty", (file: string) => writeFileSync(file, ""), "The file is empty"],
    ["half written", (file: string) => writeFileSync(file, '{"models": [{"na'), "1:"],
    ["a folder", replaceByFolder, "is a folder"],
    [
      "for one model twice",
      (file: string) =>
        writeFileSync(
          file,
          toYaml([
            { name: "m", driver: "null" },
            { name: "m", driver: "null" },
          ]),
        ),
      "Illegal to list model m multiple times",
    ],
  ])("that is %s leaves what it said before", async (_, breakIt, problem) => {
    const path = folder();
    const file = configFile({ name: "m", path });
    const { scan, messages } = openRepository({ files: [file] });
    await scan();
    breakIt(file);
    expect(await scan({ atOnce: true })).toEqual({ m: "2" });
    await scan({ atOnce: true });
    expect(messages()).toEqual([expect.stringContaining("The configuration stays as it was: ")]);
    expect(messages()[0]).toContain(problem);
    rmSync(file, { recursive: true, force: true });
    writeFileSync(file, toYaml([{ name: "other", path }]));
    expect(await scan({ atOnce: true })).toEqual({ other: "2" });
  });

  test("that is broken from the start is refused", async () => {
    const file = join(tempFolder({ "serving.yaml": "models: [{ nam: x }]" }), "serving.yaml");
    const { scan } = openRepository({ files: [file] });
    await expect(scan()).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("nam") });
  });

  test("reports settings that take effect at the next start", async () => {
    const file = join(tempFolder({ "s.yaml": "http-port: 1\nmodels: []" }), "s.yaml");
    const { scan, messages } = openRepository({ files: [file], settingNames: ["http-port"] });
    await scan();
    writeFileSync(file, "http-port: 2\nmodels: []");
    await scan({ atOnce: true });
    expect(messages()).toEqual([
      expect.stringContaining("s.yaml: http-port changed, which counts from the next start on"),
    ]);
  });

  test("has its batching for all TensorFlow models", async () => {
    const batching = join(tempFolder({ "b.txt": "max_batch_size { value: 8 }" }), "b.txt");
    const path = folder();
    const one = openRepository({ models: [modelConfig({ name: "m", path, driver: "tensorflow" })] });
    const two = openRepository({ models: [modelConfig({ name: "m", path, driver: "tensorflow" })], files: [batching] });
    const printOf = async ({ models }: typeof one) => (await models())[0]!.versions[0]!.fingerprint;
    expect(await printOf(two)).not.toBe(await printOf(one));
  });
});

describe("two models of one name", () => {
  test("are refused at the start; later the first one counts", async () => {
    const path = tempFolder({ "1/m.onnx": "1" });
    const models = [modelConfig({ name: "m", path })];
    const file = configFile({ name: "m", path });
    await expect(openRepository({ models, files: [file] }).scan()).rejects.toThrow(
      `The model "m" is described by the command line and by ${file}; expected each name once.`,
    );
    const other = tempFolder({ "1/m.onnx": "1" });
    await expect(
      openRepository({ models: [...models, modelConfig({ name: "m", path: other })] }).scan(),
    ).rejects.toThrow(
      `"m" is described by the command line twice, for ${path} and ${other} (--model NAME=PATH gives another name);`,
    );
    const late = configFile();
    const { scan, messages } = openRepository({ models, files: [late] });
    await scan();
    writeFileSync(
      late,
      toYaml([
        { name: "m", driver: "null" },
        { name: "n", driver: "null" },
      ]),
    );
    expect(await scan({ atOnce: true })).toEqual({ m: "1", n: "1" });
    expect(messages()).toEqual([expect.stringContaining('The model "m" is described by')]);
  });
});

function replaceByFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}
