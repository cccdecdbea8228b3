import { connect as connectHttp2 } from "node:http2";
import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import type { Hooks } from "../../src/hooks/hooks.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { createServer } from "../../src/server/server.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import type { Plain } from "../grpc/oracle.ts";
import { streamKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { kserveOracle } from "../protocols/kserve/kserve-oracle.ts";
import { postForParts } from "../proxy/read-parts.ts";

/** Gives `x` parts, and is then silent until its request ends. */
const SILENT = `
export const inputs = [{ name: "x", dtype: "int32", shape: [1] }];
export async function* process({ x }, ctx) {
  for (let number = 0; number < x.data[0]; number++) yield { number };
  await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
}`;
const LARGE = `
export const inputs = [{ name: "x", dtype: "int32", shape: [1] }];
export async function* process() {
  for (;;) yield { number: new Int32Array(16_384) };
}`;

const request = (x: number): Plain => ({
  model_name: "m",
  inputs: [{ name: "x", datatype: "INT32", shape: [1] }],
  raw_input_contents: [Buffer.from(Int32Array.of(x).buffer)],
});
const LINES = { accept: "application/x-ndjson" };

async function start(options: ServerOptions, text = SILENT) {
  const hooks = `${tempFolder({ "hooks.ts": text })}/hooks.ts`;
  const server = await startServer({ models: { m: { driver: "null", hooks } }, ...options });
  const generate = (x: number) => postForParts(`${server.httpUrl}/v2/models/m/generate_stream`, { x });
  const predict = (x: number) => postForParts(`${server.httpUrl}/v1/models/m:predict`, { inputs: [x] }, LINES);
  return { server, generate, predict };
}

describe("an answer in parts whose next part does not come", () => {
  it("fails in the form of each protocol where that is the first one", async () => {
    const { server, generate, predict } = await start({ firstPartTimeoutMs: 1000 });
    const error = "The first part of the answer did not come within 1000 ms (--first-part-timeout).";
    const messages = streamKserve(server.grpcAddress, [request(0)], new Metadata());
    for (const reader of await Promise.all([generate(0), predict(0)])) {
      const text = (await reader.rest("}")).join("");
      expect([reader.answer.statusCode, text]).toEqual([504, expect.stringContaining(error)]);
    }
    expect((await messages)[0]).toMatchObject({ error_message: error });
    await expect.poll(() => server.inFlight()).toEqual([]);
  });

  it("ends with an error after its parts in the form of each protocol", async () => {
    const { server, generate, predict } = await start({ partTimeoutMs: 1000 });
    const error = "Part 3 of the answer did not come within 1000 ms (--part-timeout).";
    const [events, lines, messages] = await Promise.all([
      generate(2).then((reader) => reader.rest()),
      predict(2).then((reader) => reader.rest("\n")),
      streamKserve(server.grpcAddress, [request(2)], new Metadata()),
    ]);
    expect([events.length, events[2]]).toEqual([3, `data: {"error":"${error}"}`]);
    expect([lines.length, JSON.parse(lines[2] ?? "")]).toEqual([3, { error, code: "deadline_exceeded" }]);
    expect(messages.map(({ error_message: text }) => text)).toEqual(["", "", error]);
    await expect.poll(() => server.inFlight()).toEqual([]);
  });
});

/** Routes of which one answers once, after a while, and one in parts, of which it has one. */
const ROUTES = `
export const rawRequest = [
  { path: "/whole", methods: ["GET"], answer: () => new Promise((resolve) => setTimeout(resolve, 400, { body: "whole" })) },
  { path: "/parts", methods: ["GET"], async *answer(_, { signal }) {
    yield "one";
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  } },
];`;

describe("a route of a hook file's own", () => {
  it.each([
    ["one", "export const process = async () => ({ number: 1 });"],
    ["several parts", "export async function* process() { yield { number: 1 }; }"],
  ])("is limited and counted as its answer is, beside a process that gives %s", async (_, process) => {
    const hooks = `${tempFolder({ "hooks.ts": `${ROUTES}\n${process}` })}/hooks.ts`;
    const options = { firstPartTimeoutMs: 100, partTimeoutMs: 100 };
    const server = await startServer({ stages: [{ driver: "null" }], hooks, ...options });
    const counted = async () => (await server.service.statistics())[0]?.requests.parts;
    const whole = await fetch(`${server.httpUrl}/whole`);
    expect([whole.status, await whole.text(), await counted()]).toEqual([200, "whole", undefined]);
    // It is cut, as no error has a form among its bytes.
    await expect(fetch(`${server.httpUrl}/parts`).then((answer) => answer.text())).rejects.toThrow("terminated");
    expect(await counted()).toMatchObject({ parts: 1, open: 0, ended: { deadline: 1 } });
  });
});

describe("an answer in parts whose time passes", () => {
  /** A model that gives three parts, the first one once it may, and by whose clock only the test moves time. */
  async function startOnFakeTime(options: ServerOptions) {
    const [begun, first] = [createDeferred<void>(), createDeferred<void>()];
    const hooks: Hooks = {
      async *process() {
        begun.resolve();
        await first.promise;
        for (let number = 0; number < 3; number++) yield { number };
      },
    };
    const server = await createServer({ listen: false, models: { m: { driver: "null", hooks } }, ...options });
    onTestFinished(() => server.close());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    return { parts: server.stream("m", {}), begun: begun.promise, first };
  }

  const passTime = async () => {
    for (let turn = 0; turn < 100; turn++) {
      await new Promise(setImmediate);
      vi.advanceTimersByTime(50);
    }
  };

  it("has all of it for its first part if the others alone are limited", async () => {
    const { parts, begun, first } = await startOnFakeTime({ partTimeoutMs: 1000 });
    const numbers = (async () => {
      const all: unknown[] = [];
      for await (const { number } of parts) all.push(number?.data[0]);
      return all;
    })();
    await begun;
    await passTime();
    first.resolve();
    expect(await numbers).toEqual([0, 1, 2]);
  });

  it("has none that a client takes to read counted", async () => {
    const { parts, first } = await startOnFakeTime({ firstPartTimeoutMs: 1000, partTimeoutMs: 1000 });
    first.resolve();
    const numbers: unknown[] = [];
    for await (const { number } of parts) {
      numbers.push(number?.data[0]);
      await passTime();
    }
    expect(numbers).toEqual([0, 1, 2]);
  });
});

it("an answer in parts keeps its place among the requests until it is over", async () => {
  const { server, generate } = await start({ maxQueue: 1 });
  const stream = await generate(1);
  await stream.next();
  expect(server.inFlight()).toHaveLength(1);
  const refused = await generate(1);
  expect([refused.answer.statusCode, (await refused.rest("}")).join("")]).toEqual([
    503,
    expect.stringContaining("1 requests are under way already (--max-queue)"),
  ]);
  const counted = async () => (await server.service.statistics())[0]?.requests.parts;
  expect(await counted()).toMatchObject({ open: 1, ended: { error: 0 } });
  stream.leave();
  await expect.poll(() => server.inFlight()).toEqual([]);
  const next = await generate(1);
  expect(next.answer.statusCode).toBe(200);
});

describe("parts that a client does not read", () => {
  const heldBytes = async (url: string) => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return Number(/^kserving_held_bytes (.*)$/m.exec(text)?.[1]);
  };

  it("count as memory of requests over HTTP, and no longer once it has left", async () => {
    const { server, generate } = await start({}, LARGE);
    const before = await heldBytes(server.httpUrl);
    const reader = await generate(1);
    reader.answer.pause();
    await expect.poll(() => heldBytes(server.httpUrl), { timeout: 10_000 }).toBeGreaterThan(before + 500_000);
    reader.leave();
    await expect.poll(() => heldBytes(server.httpUrl), { timeout: 10_000 }).toBe(before);
  });

  it("count as memory of requests over gRPC, and no longer once it has left", async () => {
    const { server } = await start({}, LARGE);
    const before = await heldBytes(server.httpUrl);
    const session = connectHttp2(`http://${server.grpcAddress}`);
    onTestFinished(() => session.destroy());
    session.on("error", () => {});
    const path = "/inference.GRPCInferenceService/ModelStreamInfer";
    const idle = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    idle.on("error", () => {});
    for (const frame of frameBytes(kserveOracle.encodeRequest(request(1)))) idle.write(frame);
    await expect.poll(() => heldBytes(server.httpUrl), { timeout: 10_000 }).toBeGreaterThan(before + 500_000);
    session.destroy();
    await expect.poll(() => heldBytes(server.httpUrl), { timeout: 10_000 }).toBe(before);
  });
});
