import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ModelConfig, modelConfig } from "../../../src/serving/repository/config/model-config.ts";
import { aspireModel } from "../../../src/serving/repository/scan-model.ts";
import { toTensors } from "../../../src/tensor/plain-value.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { loadOptions } from "../../helpers/load-options.ts";
import { plain, run } from "../../helpers/run-pipeline.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const MODEL = "test/fixtures/models/half-plus-two.onnx";
const never = new AbortController().signal;

/** A hook file whose model answers a text, whatever it is asked. */
const answering = (text: string) => `export const postprocess = () => ({ answer: "${text}" });`;

const aspire = (given: Partial<ModelConfig>) => aspireModel(modelConfig({ name: "half", ...given }), loadOptions());

/** A folder of versions, each with the same model. */
function versionsOf(...names: readonly string[]): string {
  const folder = tempFolder();
  for (const name of names) {
    mkdirSync(join(folder, name));
    copyFileSync(MODEL, join(folder, name, "model.onnx"));
  }
  return folder;
}

/** The answers of all versions of a model. */
async function answersOf(given: Partial<ModelConfig>) {
  const { versions } = await aspire(given);
  const answers: Record<string, unknown> = {};
  for (const { version, load } of versions) {
    const servable = await load(never);
    onTestFinished(() => servable.close());
    const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors({ x: new Float32Array([2]) }) });
    answers[String(version)] = plain((outputs as { tensors: Parameters<typeof plain>[0] }).tensors);
  }
  return answers;
}

describe("the versions of a model", () => {
  test.each([
    ["latest", { kind: "latest", count: 1 }, [12n]],
    ["latest 2", { kind: "latest", count: 2 }, [3n, 12n]],
    ["all", { kind: "all" }, [1n, 3n, 12n]],
    ["1 and 5", { kind: "specific", versions: [1n, 5n] }, [1n]],
  ] as const)("are those that the policy chooses: %s", async (_, versions, chosen) => {
    const path = versionsOf("1", "003", "12", "draft");
    const model = await aspire({ path, versions, labels: new Map([["stable", 3n]]) });
    expect(model).toMatchObject({ name: "half", labels: { stable: 3n } });
    expect(model.versions.map(({ version }) => version)).toEqual(chosen);
  });

  test("load as what their folders are numbered, each with its own model", async () => {
    const path = versionsOf("1", "7");
    expect(await answersOf({ path, versions: { kind: "all" } })).toEqual({ 1: { y: [3] }, 7: { y: [3] } });
    const { versions } = await aspire({ path });
    const servable = await versions[0]!.load(never);
    onTestFinished(() => servable.close());
    expect(servable).toMatchObject({ name: "half", version: 7n, description: { drivers: ["onnx"] } });
  });

  test("run their own hooks, and the model's where they have none", async () => {
    const path = versionsOf("1", "2");
    writeFileSync(join(path, "2/hooks.ts"), answering("own"));
    const hooks = join(tempFolder({ "shared.ts": answering("shared") }), "shared.ts");
    expect(await answersOf({ path, hooks, versions: { kind: "all" } })).toEqual({
      1: { answer: "shared" },
      2: { answer: "own" },
    });
  });

  test("have the stages of a pipeline in their folders", async () => {
    const path = versionsOf("4");
    const stages = [{ path: "model.onnx" }, { driver: "null" }];
    expect(await answersOf({ path, stages })).toEqual({ 4: { y: [3] } });
  });

  test("change their fingerprints with their files, settings and hooks alone", async () => {
    const path = versionsOf("1", "2");
    const hooks = join(tempFolder({ "h.ts": "export const preprocess = (x) => x;" }), "h.ts");
    const config = { path, hooks, versions: { kind: "all" } } as const;
    const prints = async (more = {}) =>
      (await aspire({ ...config, ...more })).versions.map(({ fingerprint }) => fingerprint);
    const first = await prints();
    expect(await prints({ labels: new Map([["a", 1n]]) })).toEqual(first);
    writeFileSync(join(path, "2/extra.bin"), "x");
    const second = await prints();
    expect([second[0] === first[0], second[1] === first[1]]).toEqual([true, false]);
    expect((await prints({ instances: 2 }))[0]).not.toBe(first[0]);
    writeFileSync(hooks, "export const postprocess = (x) => x;");
    expect((await prints())[0]).not.toBe(first[0]);
  });
});

describe("a model that cannot be served", () => {
  test.each([
    ["nothing at its path", { path: "/no/such/model" }, 'The model "/no/such/model" does not exist; expected a file'],
    ["a refusal", { refusal: "half is an ensemble" }, "half is an ensemble."],
    ["a file for a folder", { path: "package.json/x" }, "since a part of its path is not a folder"],
    ["no version", () => ({ path: tempFolder({ "v1/model.txt": "" }) }), "expected folders of versions, named by"],
    ["a loop of links", () => ({ path: linkLoop() }), "is a link that leads back to itself"],
  ])("says so as its version's failure: %s", async (_, given, message) => {
    const { versions } = await aspire(typeof given === "function" ? given() : given);
    expect(versions).toHaveLength(1);
    await expect(versions[0]!.load(never)).rejects.toThrow(message);
  });

  test("warns of two folders that are one version", async () => {
    const { log, find } = createEventLog();
    const path = versionsOf("1", "001");
    const { versions } = await aspireModel(modelConfig({ name: "half", path }), loadOptions(log));
    expect(versions).toHaveLength(1);
    const msg = `The folders ${path}/1 and ${path}/001 are both version 1; the first one counts.`;
    expect(await find({ msg })).toMatchObject({ level: "warn" });
  });

  test("reports a tensor that differs from its configuration", async () => {
    const x = { name: "x", dtype: "float32", shape: [-1] } as const;
    const y = { name: "y", dtype: "float32", shape: [-1] } as const;
    const path = versionsOf("1");
    const load = async (inputs: object[], outputs: object[]) => {
      const { versions } = await aspire({ path, expected: { inputs, outputs } as never });
      return versions[0]!.load(never);
    };
    await (await load([x], [y])).close();
    const cases = [
      [
        [{ ...x, dtype: "int32" }],
        [y],
        'The input of half "x" is float32[-1], but its configuration expects int32[-1].',
      ],
      [[{ ...x, shape: [-1, 2] }], [y], "but its configuration expects float32[-1,2]."],
      [[x], [{ ...y, name: "z" }], 'has "z" as an output of half, which the model has not; expected some of y.'],
    ] as const;
    for (const [inputs, outputs, message] of cases)
      await expect(load([...inputs], [...outputs])).rejects.toThrow(message);
  });
});

describe("a load that is given up", () => {
  test("rejects with the signal's reason, and frees what it loads", async () => {
    const gone = new AbortController();
    const { versions } = await aspire({ path: versionsOf("1") });
    const loading = versions[0]!.load(gone.signal);
    gone.abort(new Error("too late"));
    await expect(loading).rejects.toThrow("too late");
    await expect(versions[0]!.load(gone.signal)).rejects.toThrow("too late");
  });
});

/** A link to itself. */
function linkLoop(): string {
  const path = join(tempFolder(), "loop");
  rmSync(path, { force: true });
  symlinkSync(path, path);
  return path;
}
