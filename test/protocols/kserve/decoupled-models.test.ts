import { readFileSync } from "node:fs";
import { Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { RepositorySource } from "../../../src/server/repository-source.ts";
import { openServer } from "../../../src/server/server.ts";
import { withDefaults } from "../../../src/server/server-options.ts";
import type { Plain } from "../../grpc/oracle.ts";
import { connectKserve, streamKserve } from "../../helpers/kserve-grpc.ts";
import { repeatDriver } from "../../helpers/repeat-driver.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { postForParts } from "../../proxy/read-parts.ts";

const readPart = (event = "") => JSON.parse(event.replace(/^data: /, ""));

describe("a model whose driver answers in parts", () => {
  it("does so over every route that streams, and not over the others", async () => {
    const { httpUrl: url, grpcAddress } = await startServer({ models: { m: { driver: repeatDriver() } } });
    const config = await (await fetch(`${url}/v2/models/m/config`)).json();
    expect(config).toMatchObject({ model_transaction_policy: { decoupled: true } });
    const input = (...data: number[]) => ({ name: "x", datatype: "INT32", shape: [data.length], data });
    const inferred = await postForParts(`${url}/v2/models/m/infer_stream`, { inputs: [input(5, 6)] });
    const parts = (await inferred.rest()).map(readPart);
    expect(parts.map(({ outputs }) => outputs[0].data)).toEqual([[5], [6]]);
    const generated = await postForParts(`${url}/v2/models/m/generate_stream`, { x: [7, 8, 9] });
    expect((await generated.rest()).map((part) => readPart(part).y)).toEqual([7, 8, 9]);
    const accept = { accept: "application/x-ndjson" };
    const predicted = await postForParts(`${url}/v1/models/m:predict`, { inputs: { x: [1, 2] } }, accept);
    expect((await predicted.rest("\n")).map(readPart)).toEqual([{ outputs: [1] }, { outputs: [2] }]);
    const refused = await fetch(`${url}/v2/models/m/infer`, {
      method: "POST",
      body: JSON.stringify({ inputs: [input(1, 2)] }),
    });
    expect([refused.status, await refused.json()]).toEqual([
      501,
      { error: expect.stringContaining("HTTP end point doesn't support models with decoupled transaction policy") },
    ]);
    const grpcInput = { name: "x", datatype: "INT32", shape: [2], contents: { int_contents: [3, 4] } };
    const request = { model_name: "m", id: "a", inputs: [grpcInput] };
    const streamed = await streamKserve(grpcAddress, [request], new Metadata());
    const raw = streamed.flatMap(({ infer_response: answer }) => (answer as Plain).raw_output_contents as Buffer[]);
    expect(raw.map((bytes) => bytes.readInt32LE())).toEqual([3, 4]);
    await expect(connectKserve(grpcAddress)("ModelInfer", request)).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: expect.stringContaining("ModelInfer RPC doesn't support models with decoupled transaction policy"),
    });
  });
});

const CALLER = `
export async function* process({ x }, ctx) {
  for await (const { y } of ctx.models.get("m").stream({ x })) yield { y, part: Int32Array.of(ctx.part ?? 0) };
}`;

describe.each([1, 0])("hooks of another model, with %d threads,", (workers) => {
  it("read its parts by its name", async () => {
    const hooks = `${tempFolder({ "hooks.mjs": CALLER })}/hooks.mjs`;
    const models = { m: { driver: repeatDriver() }, caller: { driver: "null", hooks } };
    const { httpUrl: url } = await startServer({ models, workers });
    const called = await postForParts(`${url}/v2/models/caller/generate_stream`, { x: [7, 8, 9] });
    const parts = (await called.rest()).map(readPart);
    expect(parts.map(({ y, part }) => [y, part])).toEqual([
      [7, 0],
      [8, 1],
      [9, 2],
    ]);
  });
});

const half = readFileSync("test/fixtures/models/half-plus-two.onnx");
/** Gives each element of y as a part of its own. */
const SPLIT =
  "export function* postprocess({ y }) { for (const value of y.data) yield { y: Float32Array.of(value) }; }";
const COUPLED = "export const postprocess = (outputs) => outputs;";
const policy = (decoupled: boolean) =>
  `backend: "onnxruntime" model_transaction_policy { decoupled: ${String(decoupled)} }`;

async function serve(files: Readonly<Record<string, string | Buffer>>) {
  const log = createSilentLogger();
  const source = new RepositorySource({ folders: [tempFolder(files)] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log }), source);
  onTestFinished(() => server.close());
  const url = `${server.httpUrl}/v2/models`;
  const isDecoupled = async (model: string) => {
    const config = (await (await fetch(`${url}/${model}/config`)).json()) as Record<string, Record<string, unknown>>;
    return config.model_transaction_policy?.decoupled;
  };
  const problem = (model: string) => server.models().find(({ name }) => name === model)?.error?.message;
  return { url, isDecoupled, problem };
}

describe("the transaction policy of a config.pbtxt", () => {
  it("makes a model decoupled that answers once, and agrees with one that answers in parts", async () => {
    const { url, isDecoupled } = await serve({
      "once/config.pbtxt": policy(true),
      "once/1/model.onnx": half,
      "split/config.pbtxt": policy(true),
      "split/1/hooks.mjs": SPLIT,
      "split/1/model.onnx": half,
    });
    expect([await isDecoupled("once"), await isDecoupled("split")]).toEqual([true, true]);
    const inputs = [{ name: "x", datatype: "FP32", shape: [2], data: [2, 4] }];
    const answers = async (model: string) => {
      const reader = await postForParts(`${url}/${model}/infer_stream`, { inputs });
      return (await reader.rest()).map((part) => readPart(part).outputs[0].data);
    };
    expect([await answers("once"), await answers("split")]).toEqual([[[3, 4]], [[3], [4]]]);
  });

  it("is left to the model where it says nothing, and refuses parts where it says that there are none", async () => {
    const { isDecoupled, problem } = await serve({
      "split/config.pbtxt": 'backend: "onnxruntime"',
      "split/1/hooks.mjs": SPLIT,
      "split/1/model.onnx": half,
      "never/config.pbtxt": policy(false),
      "never/1/hooks.mjs": SPLIT,
      "never/1/model.onnx": half,
      "coupled/config.pbtxt": policy(false),
      "coupled/1/hooks.mjs": COUPLED,
      "coupled/1/model.onnx": half,
    });
    expect([await isDecoupled("split"), await isDecoupled("coupled")]).toEqual([true, false]);
    expect(problem("never")).toBe(
      "The configuration of never says that it is not decoupled, but its hooks answer in parts; write model_transaction_policy { decoupled: true }, or leave it out.",
    );
  });
});

describe("an ensemble with a model that answers in parts", () => {
  it("does so itself, and runs the steps behind it once per part", async () => {
    const tensor = (key: string, name: string) => `${key} { name: "${name}" data_type: TYPE_FP32 dims: [ -1 ] }`;
    const step = (model: string, from: string, to: string) =>
      `step { model_name: "${model}" model_version: -1 input_map { key: "x" value: "${from}" } output_map { key: "y" value: "${to}" } }`;
    const steps = [step("half", "p", "z"), step("split", "x", "p")];
    const { url, isDecoupled } = await serve({
      "e/config.pbtxt": `platform: "ensemble" ${tensor("input", "x")} ${tensor("output", "z")} ensemble_scheduling { ${steps.join(" ")} }`,
      "e/1/.keep": "",
      "split/config.pbtxt": policy(true),
      "split/1/hooks.mjs": SPLIT,
      "split/1/model.onnx": half,
      "half/1/model.onnx": half,
    });
    expect(await isDecoupled("e")).toBe(true);
    const inputs = [{ name: "x", datatype: "FP32", shape: [3], data: [0, 4, 8] }];
    const reader = await postForParts(`${url}/e/infer_stream`, { inputs });
    expect((await reader.rest()).map((part) => readPart(part).outputs[0].data)).toEqual([[3], [4], [5]]);
  });
});
