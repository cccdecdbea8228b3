import { readFileSync } from "node:fs";
import { Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { RepositorySource } from "../../../src/server/repository-source.ts";
import { openServer } from "../../../src/server/server.ts";
import { type ServerOptions, withDefaults } from "../../../src/server/server-options.ts";
import type { LocalService } from "../../../src/serving/local-service.ts";
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
    expect([refused.status, await refused.json()]).toMatchObject([
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

async function serve(files: Readonly<Record<string, string | Buffer>>, options: ServerOptions = {}) {
  const log = createSilentLogger();
  const source = new RepositorySource({ folders: [tempFolder(files)] }, { pollMs: 0, log });
  const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log, ...options }), source);
  onTestFinished(() => server.close());
  const url = `${server.httpUrl}/v2/models`;
  const isDecoupled = async (model: string) => {
    const config = (await (await fetch(`${url}/${model}/config`)).json()) as Record<string, Record<string, unknown>>;
    return config.model_transaction_policy?.decoupled;
  };
  const problem = (model: string) => server.models().find(({ name }) => name === model)?.error?.message;
  return { server, url, isDecoupled, problem };
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

const tensor = (key: string, name: string) => `${key} { name: "${name}" data_type: TYPE_FP32 dims: [ -1 ] }`;
const step = (model: string, from: string, to: string) =>
  `step { model_name: "${model}" model_version: -1 input_map { key: "x" value: "${from}" } output_map { key: "y" value: "${to}" } }`;

/** The configuration of an ensemble that takes `x`. */
function ensemble(outputs: readonly string[], steps: readonly string[], more = ""): string {
  const tensors = [tensor("input", "x"), ...outputs.map((name) => tensor("output", name))];
  return `platform: "ensemble" ${tensors.join(" ")} ensemble_scheduling { ${steps.join(" ")} ${more} }`;
}

/** A repository with an ensemble `e`, of half plus two and of models with these hooks around it. */
function serveEnsemble(config: string, hooks: Readonly<Record<string, string>>, options?: ServerOptions) {
  const models = Object.entries(hooks).flatMap(([name, code]) => [
    [`${name}/1/hooks.mjs`, code] as const,
    [`${name}/1/model.onnx`, half] as const,
  ]);
  const files = { "e/config.pbtxt": config, "e/1/.keep": "", "half/1/model.onnx": half };
  return serve({ ...files, ...Object.fromEntries(models) }, options);
}

const inputs = (...data: number[]) => [{ name: "x", datatype: "FP32", shape: [data.length], data }];

describe("an ensemble", () => {
  it("tells which step has failed as Triton does, and calls it the client's fault where the values are", async () => {
    const picky = (kind: string) => `import { ServingError } from "kserving";
      export function${kind} postprocess({ y }) {
        if (y.data[0] > 3) throw new ServingError("invalid_argument", "too much");
        ${kind === "" ? "return" : "yield"} { y };
      }`;
    for (const kind of ["", "*"]) {
      const steps = [
        [step("picky", "x", "p"), step("half", "p", "z")],
        [step("half", "x", "p"), step("picky", "p", "z")],
      ];
      const statuses = steps.map(async (order) => {
        const { url } = await serveEnsemble(ensemble(["z"], order), { picky: picky(kind) });
        const ask = async (x: number) => {
          const answer = await fetch(`${url}/e/infer`, { method: "POST", body: JSON.stringify({ inputs: inputs(x) }) });
          return [answer.status, ((await answer.json()) as Plain).error];
        };
        return [await ask(0), await ask(8)];
      });
      const error = "in ensemble 'e', too much";
      expect(await Promise.all(statuses)).toEqual([
        [
          [200, undefined],
          [400, error],
        ],
        [
          [200, undefined],
          [500, error],
        ],
      ]);
    }
  });
});

describe("an ensemble with a model that answers in parts", () => {
  it("does so itself, and runs the steps behind it once per part, and the others once", async () => {
    const steps = [step("half", "p", "z"), step("split", "x", "p"), step("half", "x", "w")];
    const { url, isDecoupled } = await serveEnsemble(ensemble(["z", "w"], steps), { split: SPLIT });
    expect(await isDecoupled("e")).toBe(true);
    const reader = await postForParts(`${url}/e/infer_stream`, { inputs: inputs(0, 4, 8) });
    const parts = (await reader.rest()).map((part) => readPart(part).outputs);
    expect(parts.map((outputs) => outputs.map(({ data }: { data: unknown }) => data))).toEqual([
      [[3], [2, 4, 6]],
      [[4], [2, 4, 6]],
      [[5], [2, 4, 6]],
    ]);
    const { model_stats: stats } = (await (await fetch(`${url}/half/stats`)).json()) as Plain;
    expect((stats as Plain[])[0]).toMatchObject({ inference_count: 4 });
  });

  it("is refused if two of them do not follow one another, and not if they do", async () => {
    const apart = ensemble(["z", "w"], [step("split", "x", "z"), step("other", "x", "w")]);
    const { problem } = await serveEnsemble(apart, { split: SPLIT, other: SPLIT });
    expect(problem("e")).toMatch(
      /^The ensemble e has two steps that answer in parts, split and other, and none of them takes what comes of the/,
    );
    const chain = ensemble(["z"], [step("split", "x", "p"), step("half", "p", "q"), step("twice", "q", "z")]);
    const twice = SPLIT.replace("yield", "for (const _ of [1, 2]) yield");
    const { url } = await serveEnsemble(chain, { split: SPLIT, twice });
    const reader = await postForParts(`${url}/e/infer_stream`, { inputs: inputs(0, 4) });
    const parts = (await reader.rest()).map((part) => readPart(part).outputs[0].data);
    expect(parts).toEqual([[3.5], [3.5], [4], [4]]);
  });
});

describe("max_inflight_requests of an ensemble", () => {
  /** Waits until two are there, and says how many there were at most. */
  const PAIR = `let open = 0, most = 0, meet = () => {};
    let met = new Promise((resolve) => { meet = resolve; });
    export async function preprocess(inputs) {
      most = Math.max(most, ++open);
      if (open === 2) { meet(); met = new Promise((resolve) => { meet = resolve; }); } else await met;
      await new Promise(setImmediate);
      open--;
      return inputs;
    }
    export const postprocess = () => ({ y: Float32Array.of(most) });`;

  it("is the number of requests that a step runs at a time, for all clients together", async () => {
    const config = ensemble(["z"], [step("pair", "x", "p"), step("half", "p", "z")], "max_inflight_requests: 2");
    const { url } = await serveEnsemble(config, { pair: PAIR });
    const body = JSON.stringify({ inputs: inputs(1) });
    const ask = async () => {
      const answer = await fetch(`${url}/e/infer`, { method: "POST", body });
      return ((await answer.json()) as { outputs: readonly { data: unknown }[] }).outputs[0]?.data;
    };
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    expect(answers).toEqual(new Array(8).fill([3]));
  });

  it("lets a request wait for the last part of another, and go if it is given up", async () => {
    const config = ensemble(["z"], [step("endless", "x", "p"), step("half", "p", "z")], "max_inflight_requests: 1");
    const endless = "export async function* postprocess(outputs) { for (;;) yield outputs; }";
    const { url } = await serveEnsemble(config, { endless });
    const body = { inputs: inputs(2) };
    const first = await postForParts(`${url}/e/infer_stream`, body);
    let hasSecond = false;
    const waiting = postForParts(`${url}/e/infer_stream`, body).then((reader) => {
      hasSecond = true;
      return reader;
    });
    const late = await fetch(`${url}/e/infer_stream`, {
      method: "POST",
      headers: { "x-request-timeout-ms": "200" },
      body: JSON.stringify(body),
    });
    expect(late.status).toBe(504);
    for (let count = 0; count < 50; count++) expect(readPart(await first.next()).outputs[0].data).toEqual([3.5]);
    expect(hasSecond).toBe(false);
    first.leave();
    const second = await waiting;
    expect(readPart(await second.next()).outputs[0].data).toEqual([3.5]);
    second.leave();
  });

  it("ends an answer that is not read and keeps another client from a step", async () => {
    const config = ensemble(["z"], [step("endless", "x", "p"), step("half", "p", "z")], "max_inflight_requests: 1");
    const endless = "export async function* postprocess() { for (;;) yield { y: new Float32Array(100_000) }; }";
    const { url, server } = await serveEnsemble(config, { endless }, { clientKey: "header:x-client" });
    (server.service as LocalService).memory.overload.configure({ minClientRate: 0, spanMs: 300 });
    const open = (client: string) =>
      postForParts(`${url}/e/infer_stream`, { inputs: inputs(2) }, { "x-client": client });
    const unread = await open("greedy");
    unread.answer.on("error", () => {});
    const read = await open("modest");
    expect(readPart(await read.next()).outputs[0].data[0]).toBe(2);
    read.leave();
  });

  it("is a number of 0, which is no limit, or more", async () => {
    const files = { "half/1/model.onnx": half, "e/1/.keep": "" };
    const config = (count: string) => ensemble(["z"], [step("half", "x", "z")], `max_inflight_requests: ${count}`);
    const ask = async (count: string) => {
      const { url } = await serve({ ...files, "e/config.pbtxt": config(count) });
      const answer = await fetch(`${url}/e/infer`, { method: "POST", body: JSON.stringify({ inputs: inputs(2) }) });
      return answer.status;
    };
    expect([await ask("0"), await ask("-1")]).toEqual([200, 404]);
  });
});
