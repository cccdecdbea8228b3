import { readdir, readFile, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type InstallOptions, installRuntime } from "../../../src/storage/runtimes/install-runtime.ts";
import { installedRuntimes } from "../../../src/storage/runtimes/runtimes-folder.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { makeWheel } from "./make-wheel.ts";
import { type IndexOptions, startIndex } from "./start-index.ts";
import { recordingReporter, TOY_FILES, toy } from "./toy-runtime.ts";

const WHEEL = makeWheel(TOY_FILES);
const FROM_INDEX = { kind: "wheel", from: "index" } as const;

/** Points PIP_INDEX_URL at an index with the toy's wheel until the test ends. */
async function withIndex(options: Partial<IndexOptions> = {}) {
  const index = await startIndex({ project: "toy-runtime", files: { [WHEEL.name]: WHEEL.bytes }, ...options });
  const before = process.env.PIP_INDEX_URL;
  process.env.PIP_INDEX_URL = index.url;
  onTestFinished(() => {
    if (before === undefined) delete process.env.PIP_INDEX_URL;
    else process.env.PIP_INDEX_URL = before;
  });
  return index;
}

function install(root: string, options: Partial<InstallOptions> = {}) {
  const reporter = recordingReporter();
  const { signal } = new AbortController();
  return installRuntime(toy, { source: FROM_INDEX, root, force: false, signal, reporter, ...options });
}

/** Names below the runtimes folder, hidden or not. */
async function namesIn(root: string): Promise<string[]> {
  return (await readdir(join(root, "toy")).catch(() => [])).sort();
}

async function wheelFile(name = WHEEL.name, bytes: Uint8Array = WHEEL.bytes): Promise<string> {
  const path = join(tempFolder(), name);
  await writeFile(path, bytes);
  return path;
}

describe("from a package index", () => {
  test.each([true, false])("installs the tested version's libraries (index in JSON: %s)", async (json) => {
    const { asked } = await withIndex({ json });
    const root = tempFolder();
    const { runtime, isNew } = await install(root);
    expect(isNew).toBe(true);
    expect(runtime).toEqual({
      name: "toy",
      version: "1.2.3",
      home: join(root, "toy", "1.2.3"),
      folder: join(root, "toy", "1.2.3"),
      source: WHEEL.name,
    });
    expect((await readdir(runtime.home)).sort()).toEqual(["libtoy.so", "libtoy_core.so", "runtime.json"]);
    expect(await namesIn(root)).toEqual(["1.2.3"]);
    expect(asked).toHaveLength(2);
  });

  test("the second time downloads nothing; --force replaces the installed version", async () => {
    const { asked } = await withIndex();
    const root = tempFolder();
    const { runtime } = await install(root);
    await writeFile(join(runtime.home, "libtoy.so"), "spoilt");
    expect((await install(root)).isNew).toBe(false);
    expect(asked).toHaveLength(2);
    expect((await install(root, { force: true })).isNew).toBe(true);
    expect(await readFile(join(runtime.home, "libtoy.so"), "utf8")).toBe(TOY_FILES["toy/libtoy.so"]);
    expect(await namesIn(root)).toEqual(["1.2.3"]);
  });

  test("of two at once one installs and the other finds it there", async () => {
    await withIndex();
    const root = tempFolder();
    const both = await Promise.all([install(root), install(root)]);
    expect(both.map(({ isNew }) => isNew).sort()).toEqual([false, true]);
    expect(await namesIn(root)).toEqual(["1.2.3"]);
  });

  test("an index with a password gives its files too", async () => {
    await withIndex({ password: "me:secret" });
    const reporter = recordingReporter();
    await install(tempFolder(), { reporter });
    expect(reporter.steps.join()).not.toContain("secret");
  });

  test.each([
    ["whose hash is another than announced", { sha256: { [WHEEL.name]: "0".repeat(64) } }, "its SHA-256 differs"],
    ["that breaks off", { serveFile: breakOff }, "The download broke off after"],
    ["that is not there any more", { serveFile: notThere }, "answers 404"],
  ])("a download %s leaves nothing", async (_, options, message) => {
    await withIndex(options);
    const root = tempFolder();
    await expect(install(root)).rejects.toThrow(message);
    expect(await namesIn(root)).toEqual([]);
  });

  test("a wheel that is damaged although its hash is right leaves nothing", async () => {
    const { name, bytes } = makeWheel(TOY_FILES, { lie: { crc32: 1 } });
    await withIndex({ files: { [name]: bytes } });
    const root = tempFolder();
    await expect(install(root)).rejects.toThrow("is damaged");
    expect(await namesIn(root)).toEqual([]);
  });

  test("an abort in the middle of the download leaves nothing", async () => {
    const controller = new AbortController();
    await withIndex({
      serveFile: (response, bytes) => {
        response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 100));
      },
    });
    const root = tempFolder();
    const reporter = { ...recordingReporter(), progress: () => controller.abort() };
    await expect(install(root, { signal: controller.signal, reporter })).rejects.toThrow("aborted");
    expect(await namesIn(root)).toEqual([]);
  });

  test("names the versions that the index has", async () => {
    await withIndex();
    await expect(install(tempFolder(), { version: "9.9" })).rejects.toThrow("it has 1.2.3; choose one with --version");
  });
});

function breakOff(response: ServerResponse, bytes: Uint8Array): void {
  response.writeHead(200, { "content-length": bytes.length });
  response.write(bytes.subarray(0, 100), () => response.destroy());
}

function notThere(response: ServerResponse): void {
  response.writeHead(404).end();
}

describe("from a file", () => {
  test("installs a wheel under the version in its RECORD, whatever the file is called", async () => {
    const root = tempFolder();
    const { runtime } = await install(root, { source: { kind: "archive", path: await wheelFile("renamed.whl") } });
    expect(runtime).toMatchObject({ version: "1.2.3", source: "renamed.whl" });
  });

  test("finds it there already without opening it", async () => {
    const root = tempFolder();
    await install(root, { source: { kind: "archive", path: await wheelFile() } });
    const path = await wheelFile(WHEEL.name, Buffer.from("no wheel"));
    expect((await install(root, { source: { kind: "archive", path } })).isNew).toBe(false);
  });

  test("refuses a wheel for another system by its name", async () => {
    const path = await wheelFile("toy_runtime-1.2.3-cp313-cp313-manylinux_2_99_x86_64.whl");
    await expect(install(tempFolder(), { source: { kind: "archive", path } })).rejects.toThrow(
      /is for manylinux_2_99_x86_64, and this is \w+/,
    );
  });

  test("refuses a wheel of another version than the one that is asked for", async () => {
    const source = { kind: "archive", path: await wheelFile() } as const;
    await expect(install(tempFolder(), { source, version: "1.2.4" })).rejects.toThrow("has version 1.2.3, not 1.2.4");
  });

  test("refuses a version that would be another folder", async () => {
    const source = { kind: "archive", path: await wheelFile("renamed.whl") } as const;
    for (const version of ["../1", "", ".hidden", "a/b"]) {
      await expect(install(tempFolder(), { source, version })).rejects.toThrow(`The version is "${version}"`);
    }
    const root = tempFolder();
    const path = await wheelFile("x.whl", makeWheel(TOY_FILES, { version: ".." }).bytes);
    await expect(install(root, { source: { kind: "archive", path } })).rejects.toThrow('The version is ".."');
    expect(await namesIn(root)).toEqual([]);
  });
});

describe("from a folder", () => {
  const FILES = {
    "lib/python3.12/site-packages/toy/libtoy.so": "",
    "lib/python3.12/site-packages/toy/libtoy_core.so": "",
  };

  test("registers where the libraries are, below a Python environment too", async () => {
    const [root, path] = [tempFolder(), tempFolder(FILES)];
    const { runtime } = await install(root, { source: { kind: "folder", path }, version: "7.0" });
    expect(runtime).toMatchObject({
      version: "7.0",
      folder: join(path, "lib/python3.12/site-packages/toy"),
      source: path,
    });
    expect(installedRuntimes("toy", root)).toEqual([runtime]);
  });

  test("refuses libraries that do not load, where no version is given", async () => {
    const root = tempFolder();
    const source = { kind: "folder", path: tempFolder(FILES) } as const;
    await expect(install(root, { source })).rejects.toThrow("does not load here, so that its version is not known");
    expect(await namesIn(root)).toEqual([]);
  });

  test.each([
    ["does not have them", () => tempFolder({ "libtoy.so": "" }), "does not have what is needed"],
    ["is not there", () => "/nowhere/at/all", "is not there"],
    ["is a file", () => `${tempFolder({ file: "" })}/file`, "is not a folder"],
  ])("refuses one that %s", async (_, path, message) => {
    const source = { kind: "folder", path: path() } as const;
    await expect(install(tempFolder(), { source, version: "1" })).rejects.toThrow(message);
  });
});

test("a folder in the way that is no complete runtime is named", async () => {
  await withIndex();
  const root = tempFolder({ "toy/1.2.3/libtoy.so": "half" });
  await expect(install(root)).rejects.toThrow("is there but no complete runtime; delete it, or use --force");
  expect((await install(root, { force: true })).isNew).toBe(true);
});

test("a platform that no wheel is for gets the advice of the runtime", async () => {
  const { signal } = new AbortController();
  const options = { source: FROM_INDEX, root: tempFolder(), force: false, signal, reporter: recordingReporter() };
  const promise = installRuntime({ ...toy, wheelProject: () => undefined }, options);
  await expect(promise).rejects.toThrow(/^No wheel carries Toy for .+ Build it yourself\.$/);
});
