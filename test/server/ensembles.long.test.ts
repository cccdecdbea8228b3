import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const model = (name: string) => readFileSync(`test/fixtures/models/${name}.onnx`);
/** y = x / 2 + 2; sum = a + b. */
const MODELS = { "half/1/model.onnx": model("half-plus-two"), "add/1/model.onnx": model("add-two-inputs") };

interface Step {
  readonly model: string;
  readonly in: Readonly<Record<string, string>>;
  readonly out: Readonly<Record<string, string>>;
  readonly version?: number;
}

const mapText = (key: string, map: object) =>
  Object.entries(map)
    .map(([own, tensor]) => `${key} { key: "${own}" value: "${tensor}" }`)
    .join(" ");
const stepText = ({ model: name, in: inputs, out, version = -1 }: Step) =>
  `step { model_name: "${name}" model_version: ${version} ${mapText("input_map", inputs)} ${mapText("output_map", out)} }`;
const tensorText = (key: string, name: string, type = "FP32") =>
  `${key} { name: "${name}" data_type: TYPE_${type} dims: [ -1 ] }`;

/** The config.pbtxt of an ensemble that takes `x` and gives `z`. */
function ensemble(steps: readonly Step[], more = ""): string {
  const tensors = [tensorText("input", "x"), tensorText("output", "z")];
  return ['platform: "ensemble"', ...tensors, `ensemble_scheduling { ${steps.map(stepText).join(" ")} }`, more].join(
    "\n",
  );
}

/** Serves a repository; an ensemble is the model `e`. */
async function serve(config: string, files: Readonly<Record<string, string | Buffer>> = {}) {
  const folder = tempFolder({ ...MODELS, "e/config.pbtxt": config, "e/1/.keep": "", ...files });
  const log = createSilentLogger();
  const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log }), source);
  onTestFinished(() => server.close());
  const ask = async (data: readonly number[], datatype = "FP32") => {
    const body = JSON.stringify({ inputs: [{ name: "x", datatype, shape: [data.length], data }] });
    const response = await fetch(`${server.httpUrl}/v2/models/e/infer`, { method: "POST", body });
    return [response.status, await response.json()] as const;
  };
  const problem = () => server.models().find(({ name }) => name === "e")?.error?.message;
  return { server, ask, problem };
}

const half = (from: string, to: string): Step => ({ model: "half", in: { x: from }, out: { y: to } });
const add = (a: string, b: string, to: string): Step => ({ model: "add", in: { a, b }, out: { sum: to } });

describe("an ensemble of Triton's", () => {
  it("is a chain of models that are served by themselves, too", async () => {
    const { server, ask } = await serve(ensemble([half("x", "m"), half("m", "z")]));
    expect(await ask([2, 4])).toMatchObject([200, { outputs: [{ name: "z", shape: [2], data: [3.5, 4] }] }]);
    const metadata = await (await fetch(`${server.httpUrl}/v2/models/e`)).json();
    expect(metadata).toMatchObject({
      platform: "ensemble",
      inputs: [{ name: "x", datatype: "FP32", shape: [-1] }],
      outputs: [{ name: "z", datatype: "FP32", shape: [-1] }],
    });
    await expect(server.unload("half")).rejects.toThrow("The model half is needed by e");
  });

  it("refuses more rows than its own max_batch_size", async () => {
    const steps = ensemble([half("x", "m"), half("m", "z")], "max_batch_size: 2").replaceAll(
      "dims: [ -1 ]",
      "dims: [ ]",
    );
    const { ask } = await serve(steps);
    expect(await ask([2, 4])).toMatchObject([200, {}]);
    const error = "[request id: <id_unknown>] inference request batch-size must be <= 2 for 'e'";
    expect(await ask([2, 4, 6])).toMatchObject([400, { error }]);
  });

  it("is a graph, whatever the order of its steps", async () => {
    const { ask } = await serve(ensemble([add("p", "q", "z"), half("x", "p"), half("p", "q")]));
    // p = 3, q = 3.5
    expect(await ask([2])).toMatchObject([200, { outputs: [{ data: [6.5] }] }]);
  });

  it("may be a step of another, and name a version", async () => {
    const inner = ensemble([{ ...half("x", "z"), version: 1 }]);
    const outer = ensemble([{ model: "inner", in: { x: "x" }, out: { z: "z" } }]);
    const files = { "inner/config.pbtxt": inner, "inner/1/.keep": "" };
    const first = await serve(outer, { ...files, "half/2/model.onnx": model("half-plus-two") });
    expect(first.problem()).toContain('It needs the model "inner", which could not be loaded: The model "half"');
    const both = { ...files, "half/config.pbtxt": "version_policy { all {} }" };
    const second = await serve(outer, { ...both, "half/2/model.onnx": model("half-plus-two") });
    expect(await second.ask([2])).toMatchObject([200, { outputs: [{ data: [3] }] }]);
  });

  it("refuses what does not fit, as its models do; one step is an ensemble too", async () => {
    const { ask, server } = await serve(ensemble([half("x", "z")]));
    expect(await (await fetch(`${server.httpUrl}/v2/models/e`)).json()).toMatchObject({ platform: "ensemble" });
    expect(await ask([2], "INT64")).toMatchObject([400, { error: expect.stringContaining("x") }]);
  });

  it.each<readonly [string, readonly Step[], string]>([
    ["a tensor that no step makes", [half("y", "z")], 'the ensemble e needs the tensor "y", which is not an input'],
    ["a tensor that two steps make", [half("x", "z"), half("x", "z")], 'makes the tensor "z" more than once'],
    ["an unused tensor", [half("x", "z"), half("x", "m")], 'has the tensor "m", which nothing uses'],
    [
      "a circle",
      [add("x", "q", "p"), half("p", "q"), half("q", "z")],
      "has steps that wait for one another: add, half",
    ],
    ["a step without inputs", [{ ...half("x", "z"), in: {} }], "has no input_map in step 1, which runs half"],
    [
      "an unknown model",
      [{ ...half("x", "z"), model: "hlf" }],
      'A stage of e is the model "hlf", which is not described',
    ],
    [
      "an unknown input",
      [{ ...half("x", "z"), in: { x: "x", w: "x" } }],
      'There is no "w", which is to be an input of',
    ],
    ["an unknown output", [{ ...half("x", "z"), out: { w: "z" } }], 'There is no "w", which is to be an output of'],
    ["an input that is left out", [{ ...add("x", "x", "z"), in: { a: "x" } }], 'The input "b" of the model add'],
  ])("is refused with %s, and the others are served", async (_, steps, message) => {
    const { server, problem } = await serve(ensemble(steps));
    expect(problem()).toContain(message);
    expect(server.models().filter(({ state }) => state === "AVAILABLE")).toHaveLength(2);
  });

  it("is refused where it gives another type than it says", async () => {
    const config = ensemble([half("x", "z")]).replace(/TYPE_FP32/g, "TYPE_INT32");
    expect((await serve(config)).problem()).toContain('"x" is int32[-1], but the input "x" of the model half');
  });

  it("is refused where it batches, and its models do not", async () => {
    const { problem } = await serve(ensemble([half("x", "z")], "max_batch_size: 4"));
    expect(problem()).toContain(
      '"x" is float32[-1,-1], but the input "x" of the model half of the ensemble e takes float32',
    );
  });

  it("is served with an empty list of instances", async () => {
    const { ask } = await serve(ensemble([half("x", "z")], "instance_group []"));
    expect((await ask([2]))[0]).toBe(200);
  });
});
