import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { createSilentLogger, type Logger } from "../../src/observability/logger.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import type { NamedModelOptions } from "../../src/server/named-model.ts";
import { createServer } from "../../src/server/server.ts";
import type { Plain } from "../grpc/oracle.ts";
import { connectKserve, streamKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { postForParts } from "../proxy/read-parts.ts";

const HALF = "test/fixtures/models/half-plus-two.onnx";
const POLL = { timeout: 20_000 };
/** Answers the version that ran. */
const telling = {
  postprocess: (_: unknown, ctx: { request: { version: bigint } }) => ({ v: [Number(ctx.request.version)] }),
};

function versions(...numbers: readonly number[]): string {
  const folder = tempFolder();
  for (const number of numbers) {
    mkdirSync(join(folder, String(number)));
    cpSync(HALF, join(folder, String(number), "model.onnx"));
  }
  return folder;
}

function modelOf(options: NamedModelOptions, ...numbers: readonly number[]): NamedModelOptions {
  return { path: versions(...numbers), hooks: telling as never, ...options };
}

async function ask(url: string, model: string, headers: Record<string, string> = {}): Promise<number> {
  const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] });
  const response = await fetch(`${url}/v2/models/${model}/infer`, { method: "POST", body, headers });
  const { outputs } = (await response.json()) as { outputs?: readonly { data: readonly number[] }[] };
  return outputs?.[0]?.data[0] ?? -response.status;
}

type Counts = Readonly<Record<string, readonly [succeeded: number, failed: number]>>;

async function counts(url: string, model = ""): Promise<Counts> {
  const answer = await fetch(`${url}/v2/models${model && `/${model}`}/stats`);
  const { model_stats: stats } = (await answer.json()) as {
    model_stats: readonly { name: string; version: string; inference_stats: Record<string, { count: number }> }[];
  };
  return Object.fromEntries(
    stats.map(({ name, version, inference_stats: { success, fail } }) => [
      `${name}/${version}`,
      [success?.count ?? 0, fail?.count ?? 0],
    ]),
  );
}

/** A logger, and the warnings that it was given. */
function recording() {
  const warnings: string[] = [];
  const log: Logger = { ...createSilentLogger(), warn: (line) => void warnings.push(line) };
  return { log, warnings };
}

describe("a split", () => {
  it("sends requests for answers in parts to the same version for the same user, over every wire", async () => {
    const folder = versions(1, 2);
    const hooks = {
      async *postprocess(_: unknown, ctx: { request: { version: bigint } }) {
        yield { v: [Number(ctx.request.version)] };
        yield { v: [Number(ctx.request.version)] };
      },
    };
    const m = { path: folder, hooks: hooks as never, split: { 1: 50, 2: 50 }, sticky: "X-User" };
    const { httpUrl, grpcAddress } = await startServer({ models: { m } });
    const answered = new Set<unknown>();
    for (let user = 0; user < 12; user++) {
      const headers = { "x-user": `user-${user}` };
      const reader = await postForParts(`${httpUrl}/v2/models/m/generate_stream`, { x: 1 }, headers);
      const versionsOverHttp = (await reader.rest()).map((event) => JSON.parse(event.slice("data: ".length)).v);
      const inputs = [{ name: "x", datatype: "FP32", shape: [1], contents: { fp32_contents: [1] } }];
      const messages = await streamKserve(
        grpcAddress,
        [{ model_name: "m", inputs }],
        Metadata.fromHttp2Headers(headers),
      );
      const versionsOverGrpc = messages.map((message) => Number((message.infer_response as Plain).model_version));
      expect(versionsOverGrpc).toEqual(versionsOverHttp);
      expect(new Set(versionsOverHttp).size).toBe(1);
      answered.add(versionsOverHttp[0]);
    }
    expect(answered).toEqual(new Set([1, 2]));
  });

  it("sends users to the same version, over HTTP and gRPC, and counts them there; explicit versions and labels pass it by", async () => {
    const m = modelOf({ split: { 1: 50, 2: 50 }, sticky: "X-User", labels: { canary: 2 } }, 1, 2, 3);
    const server = await startServer({ models: { m } });
    const { httpUrl } = server;
    const call = connectKserve(server.grpcAddress);
    const askGrpc = async (user: string) => {
      const metadata = new Metadata();
      metadata.set("x-user", user);
      const inputs = [{ name: "x", datatype: "FP32", shape: [1], contents: { fp32_contents: [1] } }];
      return (await call("ModelInfer", { model_name: "m", inputs }, metadata)).model_version;
    };
    const users = Array.from({ length: 24 }, (_, index) => `user-${index}`);
    const first = await Promise.all(users.map((user) => ask(httpUrl, "m", { "x-user": user })));
    expect(new Set(first)).toEqual(new Set([1, 2]));
    expect(await Promise.all(users.map((user) => ask(httpUrl, "m", { "x-user": user })))).toEqual(first);
    expect(await Promise.all(users.map(askGrpc))).toEqual(first.map(String));
    expect([await ask(httpUrl, "m/versions/2"), await ask(httpUrl, "m/versions/3")]).toEqual([2, -404]);
    const labelled = await fetch(`${httpUrl}/v1/models/m/labels/canary:predict`, {
      method: "POST",
      body: '{"inputs": [1]}',
    });
    expect(await labelled.json()).toEqual({ outputs: [2] });
    const ones = first.filter((version) => version === 1).length;
    expect(await counts(httpUrl, "m")).toEqual({ "m/1": [3 * ones, 0], "m/2": [3 * (24 - ones) + 2, 0] });
  });

  it.each([
    ["all", (user: number) => ({ user: [user, 0] })],
    [["user"], (user: number, turn: number) => ({ user: [user, 0], turn: [turn, turn] })],
  ] as const)("sends equal inputs (%j) to the same version, whose number the answer has", async (inputs, given) => {
    const hooks = {
      process: (_: unknown, ctx: { request: { version: bigint } }) => ({ v: Number(ctx.request.version) }),
    };
    const options = { driver: "null", hooks: hooks as never, split: { 1: 50, 2: 50 }, sticky: { inputs } };
    const { httpUrl } = await startServer({ models: { m: modelOf(options, 1, 2) } });
    const askAs = async (user: number, turn: number) => {
      const body = JSON.stringify({ inputs: given(user, turn) });
      const response = await fetch(`${httpUrl}/v1/models/m:predict`, { method: "POST", body });
      return ((await response.json()) as { outputs: number }).outputs;
    };
    const users = Array.from({ length: 24 }, (_, index) => index);
    const turns = await Promise.all([1, 2, 3].map((turn) => Promise.all(users.map((user) => askAs(user, turn)))));
    expect(turns[1]).toEqual(turns[0]);
    expect(turns[2]).toEqual(turns[0]);
    expect(new Set(turns[0])).toEqual(new Set([1, 2]));
    const ones = turns[0]?.filter((version) => version === 1).length ?? 0;
    expect(await counts(httpUrl, "m")).toEqual({ "m/1": [3 * ones, 0], "m/2": [3 * (24 - ones), 0] });
  });

  it("goes to other models by their names, and to what is there where a part is not", async () => {
    const a = modelOf({ split: { a: 0, b: 1 } }, 1);
    const server = await startServer({ models: { a, b: modelOf({}, 7), caller: { stages: [{ model: "a" }] } } });
    expect([await ask(server.httpUrl, "a"), await ask(server.httpUrl, "caller")]).toEqual([7, 7]);
    await server.unload("b");
    expect([await ask(server.httpUrl, "a"), await ask(server.httpUrl, "caller")]).toEqual([1, 1]);
  });

  it.each([
    [{ split: { 1: -1, 2: 2 } }, "models.m: split has no weight over 0, or one below"],
    [{ split: { 1: 0 } }, "models.m: split has no weight over 0"],
    [{ split: { 1: "a" } }, 'models.m.split is {"1":"a"}; expected an object of weights by version'],
    [{ sticky: "x" }, "models.m: sticky goes with split"],
    [
      { split: { 1: 1 }, sticky: { input: "x" } },
      'models.m.sticky is {"input":"x"}; expected a header\'s name, { inputs: all } or a list of inputs',
    ],
    [{ shadow: {} }, "models.m: shadow has both version and model, or neither"],
    [{ shadow: { version: 1, share: 2 } }, "models.m: the share of shadow is 2; expected a part of 1"],
    [{ shadow: { vresion: 1 } }, 'There is no option "models.m.shadow.vresion". Did you mean "version"?'],
    [
      { split: { oter: 1 } },
      'The split or shadow of m names the model "oter", which is not described. Did you mean "other"?',
    ],
  ])("%j is refused", async (options, message) => {
    const models = { m: { path: HALF, ...options }, other: { path: HALF } } as Record<string, NamedModelOptions>;
    await expect(createServer({ models })).rejects.toThrow(message);
  });
});

describe("a shadow", () => {
  it("gets a copy of each request without a version, which is counted there and whose answer is discarded", async () => {
    const m = modelOf({ versions: "all", split: { 1: 1 }, shadow: { version: 2 } }, 1, 2);
    const { httpUrl } = await startServer({ models: { m } });
    expect(await Promise.all([1, 2, 3].map(() => ask(httpUrl, "m")))).toEqual([1, 1, 1]);
    expect(await ask(httpUrl, "m/versions/1")).toBe(1);
    await expect.poll(() => counts(httpUrl, "m"), POLL).toEqual({ "m/1": [4, 0], "m/2": [3, 0] });
  });

  it("that fails or is missing is logged at intervals, and counted", async () => {
    const { log, warnings } = recording();
    const broken = { driver: "null", hooks: { process: () => Promise.reject(new Error("no luck")) } };
    const models = { m: modelOf({ shadow: { model: "broken" } }, 1), broken };
    const server = await startServer({ models, log });
    for (let count = 0; count < 3; count++) expect(await ask(server.httpUrl, "m")).toBe(1);
    await expect.poll(() => counts(server.httpUrl, "broken"), POLL).toEqual({ "broken/1": [0, 3] });
    await server.unload("broken");
    expect(await ask(server.httpUrl, "m")).toBe(1);
    expect(warnings[0]).toMatch(/^a copied request failed: .*no luck/);
    // Four have failed; a machine that takes more than ten seconds for them may tell of a second one.
    expect(warnings.length).toBeLessThan(4);
  });

  it("never keeps an answer or the end of the server waiting, nor takes more than half of the places", async () => {
    let held = 0;
    const never = createDeferred<never>();
    const stuck = {
      driver: "null",
      hooks: {
        process: () => {
          held++;
          return never.promise;
        },
      },
    };
    const m = modelOf({ shadow: { model: "stuck" } }, 1);
    const server = await createServer({ models: { m, stuck }, http: {}, maxQueue: 6 });
    const url = server.httpUrl as string;
    for (let count = 0; count < 6; count++) expect(await ask(url, "m")).toBe(1);
    await expect.poll(() => held, POLL).toBe(3);
    expect(server.inFlight()).toEqual([]);
    await server.close();
  });

  it("copies tensors that the request gives away", async () => {
    const seen: number[] = [];
    const watching = {
      driver: "null",
      hooks: {
        process: ({ x }: { x?: { data: ArrayLike<number> } }) => {
          seen.push(x?.data.length ?? -1, x?.data[x.data.length - 1] ?? -1);
          return { done: 1 };
        },
      },
    };
    const m: NamedModelOptions = { path: HALF, shadow: { model: "watching" } };
    const { httpUrl } = await startServer({ models: { m, watching: watching as never } });
    const data = new Array<number>(50_000).fill(7);
    const inputs = [{ name: "x", datatype: "FP32", shape: [data.length], data }];
    const answer = await fetch(`${httpUrl}/v2/models/m/infer`, { method: "POST", body: JSON.stringify({ inputs }) });
    expect([answer.status, (await answer.text()).includes('"y"')]).toEqual([200, true]);
    await expect.poll(() => seen, POLL).toEqual([50_000, 7]);
  });

  it("gets requests for answers in parts too, and its parts are thrown away and counted", async () => {
    const parted = (count: number): NamedModelOptions => ({
      driver: "null",
      hooks: {
        async *process() {
          for (let number = 0; number < count; number++) yield { number };
        },
      },
    });
    const models = { m: { ...parted(2), shadow: { model: "other" } }, other: parted(5) };
    const server = await startServer({ models });
    const numbers: unknown[] = [];
    for await (const { number } of server.stream("m", { x: [1] })) numbers.push(number?.data[0]);
    expect(numbers).toEqual([0, 1]);
    const counted = async () => {
      const statistics = await server.service.statistics();
      return statistics.map(({ model, requests: { parts } }) => [model, parts?.parts, parts?.ended.server]);
    };
    await expect.poll(counted, POLL).toEqual([
      ["m", 2, 1],
      ["other", 5, 1],
    ]);
  });

  it("that answers in parts without end keeps nothing from the server, and ends with it", async () => {
    let [asked, left] = [0, 0];
    const endless: NamedModelOptions = {
      driver: "null",
      hooks: {
        async *process() {
          try {
            for (;;) yield { asked: ++asked };
          } finally {
            left++;
          }
        },
      },
    };
    const server = await createServer({
      models: { m: modelOf({ shadow: { model: "endless" } }, 1), endless },
      http: {},
    });
    for await (const { v } of server.stream("m", { x: [1] })) expect(v?.data[0]).toBe(1);
    await expect.poll(() => asked, POLL).toBeGreaterThan(100);
    expect(await ask(server.httpUrl as string, "endless/versions/2")).toBe(-404);
    await server.close();
    expect(left).toBe(1);
  });
});
