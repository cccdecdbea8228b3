import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ModelFacts } from "../../../src/models/model-facts.ts";
import type { ModelCall } from "../../../src/models/model-handle.ts";
import { RunCounter, type RunStatistics } from "../../../src/models/queue/run-statistics.ts";
import { createModelClient, ReportedStatistics } from "../../../src/models/threads/model-client.ts";
import { toHostPort } from "../../../src/platform/threads/host-port.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

const MANY = 32 * 1024 * 1024;

function statisticsOf(requests: number): RunStatistics {
  const counter = new RunCounter();
  for (let request = 0; request < requests; request++) counter.addRequest(1);
  return counter.statistics();
}

const never = () => new Promise<never>(() => {});

test("a thread that does not answer counts as of its last report, and is asked once", async () => {
  const answers = [async () => statisticsOf(3), never];
  let asked = 0;
  const reported = new ReportedStatistics(() => answers[asked++]!());
  expect((await reported.read()).requests).toBe(3);
  expect((await reported.read()).requests).toBe(3);
  expect((await reported.read()).requests).toBe(3);
  expect(asked).toBe(2);
});

test("the last report of a lost thread is added to those of its replacement", async () => {
  const first = new ReportedStatistics(async () => statisticsOf(3));
  await first.read();
  const lost = new ReportedStatistics(async () => Promise.reject(new Error("lost")), first.known);
  expect((await lost.read()).requests).toBe(3);
  const next = new ReportedStatistics(async () => statisticsOf(2), lost.known);
  const { requests, queueTimes } = await next.read();
  expect([requests, queueTimes.counts.reduce((sum, count) => sum + count, 0)]).toEqual([5, 5]);
});

/** Sends a model that shares its thread an input, and gives it with what has come there after a few turns. */
async function sendInput(x: Tensor) {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const facts = { name: "m", driver: "d", signatures: {}, defaultSignature: "s", sharesThread: true };
  const ports = [toHostPort(port1)];
  const client = createModelClient({ facts: facts as unknown as ModelFacts, hookArgs: {}, ports });
  const call = { signature: "s", outputs: undefined, transfer: true, signal: undefined, requestId: "" };
  void client.predict(createTensors([["x", x]]), call as unknown as ModelCall).catch(() => {});
  for (let turn = 0; turn < 4; turn++) await nextTurn();
  return { early: receiveMessageOnPort(port2), late: () => receiveMessageOnPort(port2) };
}

test.each([
  ["numbers", createTensor("uint8", [MANY], new Uint8Array(MANY).fill(7))],
  ["a text", createTensor("bytes", [1], [new Uint8Array(MANY).fill(7)])],
  ["texts", createTensor("bytes", [2], [new Uint8Array(MANY).fill(7), new Uint8Array(3).fill(8)])],
])("%s of many bytes for a thread that models share are copied in turns with other work", async (_, x) => {
  const { early, late } = await sendInput(x);
  // Without its bytes in the message of a failure.
  expect(early === undefined).toBe(true);
  const [, content] = await vi.waitUntil(() => late()?.message as readonly ArrayBuffer[] | undefined, {
    timeout: 20_000,
  });
  const bytes = new Uint8Array(content as ArrayBuffer);
  const sent = x.dtype === "bytes" ? Buffer.concat(x.data) : Buffer.from(x.data as Uint8Array);
  expect(Buffer.compare(bytes, sent)).toBe(0);
  expect(sent.length).toBeGreaterThanOrEqual(MANY);
});

test("a small input for a thread that models share is sent at once", async () => {
  const { early } = await sendInput(createTensor("uint8", [3], Uint8Array.of(1, 2, 3)));
  expect(early).toBeDefined();
});
