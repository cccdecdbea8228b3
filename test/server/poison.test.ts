import { Metadata } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { connectKserve, streamKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { warmNumpy } from "../helpers/warm-python.ts";

/** From 666 on, a value ends the process, from 900 on after a while; 500 takes a while. */
const DRIVER = `
export default {
  name: "fragile", options: {}, pathless: true,
  load: async () => {
    const spec = { dtype: "int32", shape: [-1] };
    return {
      signatures: { serving_default: { inputs: [{ name: "x", ...spec }], outputs: [{ name: "y", ...spec }] } },
      predict: async ({ x }) => {
        if (x.data[0] >= 900) await new Promise((resolve) => setTimeout(resolve, 150));
        if (x.data[0] >= 666) process.kill(process.pid, "SIGKILL");
        if (x.data[0] === 500) await new Promise((resolve) => setTimeout(resolve, 150));
        return { y: x };
      },
      close: async () => {},
      concurrency: 8,
    };
  },
};`;

/** From 700 on, a value ends the thread, from 800 on it hangs in it. */
const HOOKS = `
export async function preprocess({ x }) {
  const [value] = x.data;
  while (value === 667 || value >= 800);
  if (value === 666 || value >= 700) process.exit();
  return { x };
}`;

const PYTHON_HOOKS = `
import os
def preprocess(inputs, ctx):
    if inputs["x"][0] >= 666:
        os._exit(3)
    return inputs
`;
const python = warmNumpy("The end of a process of Python hooks");

function toRequest(value: number) {
  const input = { name: "x", datatype: "INT32", shape: [1], contents: { int_contents: [value] } };
  return { model_name: "default", id: String(value), inputs: [input] };
}

interface Asking {
  readonly client?: string;
  readonly size?: number;
  readonly id?: string;
  readonly signal?: AbortSignal;
}

async function start(options: Partial<ServerOptions>) {
  const { log, find } = createEventLog();
  const server = await startServer({ clientKey: "header:x-client", log, ...options });
  const ask = async (value: number, { client = "one", size = 1, id = "", ...more }: Asking = {}) => {
    const data = new Array(size).fill(value);
    const body = JSON.stringify({ id, inputs: [{ name: "x", datatype: "INT32", shape: [size], data }] });
    const init = { method: "POST", body, headers: { "x-client": client }, ...more };
    const answer = await fetch(`${server.httpUrl}/v2/models/default/infer`, init);
    return { status: answer.status, retry: answer.headers.get("retry-after"), text: await answer.text() };
  };
  /** Resolves once it answers again. */
  const isBack = () =>
    expect.poll(async () => (await ask(1, { client: "canary" })).status, { timeout: 10_000 }).toBe(200);
  const kill = async (...given: Parameters<typeof ask>) => {
    expect(await ask(...given)).toMatchObject({ status: 503, text: expect.stringContaining("was lost") });
    await isBack();
  };
  const call = connectKserve(server.grpcAddress);
  const stream = (values: readonly number[], client = "one") => {
    const metadata = new Metadata();
    metadata.set("x-client", client);
    return streamKserve(server.grpcAddress, values.map(toRequest), metadata);
  };
  const metrics = async () => (await fetch(`${server.httpUrl}/metrics`)).text();
  return { ask, kill, isBack, call, stream, metrics, find };
}

const isolated = (options: Partial<ServerOptions> = {}) => {
  const driver = `${tempFolder({ "fragile.ts": DRIVER })}/fragile.ts`;
  return start({ models: { default: { stages: [{ driver }], isolate: true } }, ...options });
};

test("a request that ends an isolated model's process twice is not run again, on any transport", async () => {
  const { ask, kill, isBack, call, metrics, find } = await isolated();
  await kill(666, { id: "first" });
  await kill(666, { id: "second" });
  const refused = await ask(666);
  expect(refused).toMatchObject({
    status: 400,
    text: expect.stringMatching(
      /default 2 times, first as the request first\. For an hour after the last time it is not run .* with other inputs/,
    ),
  });
  await expect(call("ModelInfer", toRequest(666))).rejects.toMatchObject({ code: 3 });
  expect(await find({ level: "error", requestId: "second" })).toMatchObject({
    msg: "a request has ended what runs its model again, and is refused for an hour (--poison-requests)",
    ends: 2,
    model: "default",
    firstRequestId: "first",
  });
  expect(await metrics()).toMatch(
    /kserving_poison_requests_total\{model="default"\} 1\n(?:.*\n)*.*refused_total\{model="default"\} 2\n/,
  );
  await isBack();
});

test("a stream's request that ended it is refused within the stream, whose others are answered", async () => {
  const { stream, isBack } = await isolated();
  for (let times = 0; times < 2; times++) {
    const [lost] = await stream([666]);
    expect(lost?.error_message).toContain("was lost");
    await isBack();
  }
  const [refused, answered] = await stream([666, 5]);
  expect(refused?.error_message).toMatch(/default 2 times, first as the request 666/);
  expect(answered).toMatchObject({ error_message: "", infer_response: { id: "5" } });
});

test("a stream whose requests end it one after another has to wait, and another client's has not", async () => {
  const { stream, isBack } = await isolated();
  for (let value = 700; value < 704; value++) {
    await stream([value]);
    await isBack();
  }
  const [waits] = await stream([1]);
  expect(waits?.error_message).toMatch(/wait|again/i);
  const [answered] = await stream([1], "two");
  expect(answered).toMatchObject({ error_message: "" });
});

test("large requests, whose memory is given away, are known too", async () => {
  const { ask, kill } = await isolated();
  const large = { size: 300_000 };
  for (let times = 0; times < 2; times++) await kill(666, large);
  expect((await ask(666, large)).status).toBe(400);
  expect((await ask(5, large)).status).toBe(200);
});

test("a request that was under way with it runs alone, and is answered", async () => {
  const { ask, isBack } = await isolated();
  for (let times = 0; times < 2; times++) {
    const innocent = ask(500, { client: "two" });
    await new Promise((resolve) => setTimeout(resolve, 40));
    const [poison, other] = await Promise.all([ask(666), innocent]);
    expect([poison.status, other.status]).not.toContain(400);
    await isBack();
    if (times === 0) expect(other.status).toBe(503);
    expect((await ask(500, { client: "two" })).status).toBe(200);
  }
  expect((await ask(666)).status).toBe(400);
});

test("a client that ends it with one request after another has to wait, and others do not", async () => {
  const { ask, kill } = await isolated();
  for (let value = 700; value < 704; value++) await kill(value);
  expect(await ask(1)).toMatchObject({ status: 429, retry: expect.stringMatching(/^\d+$/) });
  expect((await ask(1, { client: "two" })).status).toBe(200);
});

test("0 remembers none", async () => {
  const { kill } = await isolated({ poisonRequests: 0 });
  for (let times = 0; times < 5; times++) await kill(666);
});

test("a request that ends a hook thread, or hangs in it, is known", async () => {
  const hooks = `${tempFolder({ "hooks.ts": HOOKS })}/hooks.ts`;
  const { ask, kill } = await start({ stages: [{ driver: "null" }], hooks, hookStallMs: 500 });
  for (const [value, client] of [
    [666, "one"],
    [667, "two"],
  ] as const) {
    await kill(value, { client });
    await kill(value, { client });
    expect((await ask(value, { client })).status).toBe(400);
  }
  // The first time, its memory was given to the thread.
  const large = { client: "three", size: 300_000 };
  for (let times = 0; times < 3; times++) await kill(666, large);
  expect((await ask(666, large)).status).toBe(400);
  expect((await ask(5, large)).status).toBe(200);
});

const hooked = () => {
  const hooks = `${tempFolder({ "hooks.ts": HOOKS })}/hooks.ts`;
  return start({ stages: [{ driver: "null" }], hooks, hookStallMs: 300, workers: 1 });
};

test.each([
  ["hangs in one hook thread after another", 800, 4],
  ["ends hook threads, which are there again at once, many times", 700, 16],
])("a client that %s has to wait, and others do not", async (_, first, times) => {
  const { ask, kill } = await hooked();
  for (let value = first; value < first + times; value++) await kill(value);
  expect(await ask(1)).toMatchObject({ status: 429, retry: expect.stringMatching(/^\d+$/) });
  expect((await ask(1, { client: "two" })).status).toBe(200);
});

test.each([
  ["hangs in hook threads", "hook", 800, hooked],
  ["ends an isolated model's process", "model", 900, isolated],
] as const)("so has one that %s, but leaves before that", async (_, kind, first, begin) => {
  const { ask, isBack, metrics } = await begin();
  const lost = new RegExp(`kserving_threads_lost_total\\{.*kind="${kind}"\\} (\\d+)`);
  for (let times = 0; times < 4; times++) {
    await expect(ask(first + times, { signal: AbortSignal.timeout(50) })).rejects.toThrow();
    await expect.poll(async () => Number(lost.exec(await metrics())?.[1]), { timeout: 10_000 }).toBe(times + 1);
    await isBack();
  }
  await expect.poll(async () => (await ask(1)).status).toBe(429);
  expect((await ask(1, { client: "two" })).status).toBe(200);
});

test.skipIf(python === undefined)(
  "a client that ends the process of Python hooks with one request after another has to wait",
  async () => {
    const hooks = `${tempFolder({ "hooks.py": PYTHON_HOOKS })}/hooks.py`;
    const { ask, kill } = await start({ stages: [{ driver: "null" }], hooks, options: { python: python as string } });
    for (let value = 700; value < 704; value++) await kill(value);
    expect(await ask(1)).toMatchObject({ status: 429, retry: expect.stringMatching(/^\d+$/) });
    expect((await ask(1, { client: "two" })).status).toBe(200);
  },
);
