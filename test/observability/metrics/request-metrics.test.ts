import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { RequestMetrics } from "../../../src/observability/metrics/request-metrics.ts";
import { RequestRecord } from "../../../src/observability/request-record.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
setFlagsFromString("--no-expose-gc");

async function usedBytes(): Promise<number> {
  // Weak references last for a turn.
  await new Promise(setImmediate);
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const [PREDICT, INFER] = [
  { protocol: "a", method: "predict" },
  { protocol: "b", method: "infer" },
];

function requestTo(route: typeof PREDICT, model: string, version: bigint): RequestRecord {
  const record = new RequestRecord({});
  record.route = route;
  record.startTiming();
  record.received(10);
  record.servedBy(model, version);
  record.wrote(3);
  return record;
}

function valuesOf(metrics: RequestMetrics, name: string) {
  const family = metrics.families().find((one) => one.name === name);
  return family?.samples.map(({ labels, value }) => [...labels, value]);
}

test("requests are counted under what they were for, whatever came before", () => {
  const metrics = new RequestMetrics();
  const requests = [
    [PREDICT, "m", 1n],
    [PREDICT, "m", 2n],
    [INFER, "m", 2n],
    [PREDICT, "n", 2n],
    [PREDICT, "m", 2n],
  ] as const;
  for (const [route, model, version] of requests) metrics.add(requestTo(route, model, version), 200);
  expect(valuesOf(metrics, "kserving_requests_total")).toEqual([
    ["m", "1", "a", "predict", "200", 1],
    ["m", "2", "a", "predict", "200", 2],
    ["n", "2", "a", "predict", "200", 1],
    ["m", "2", "b", "infer", "200", 1],
  ]);
});

test("what other threads counted is fetched once, under the names of the routes here", async () => {
  const [metrics, other] = [new RequestMetrics(), new RequestMetrics()];
  const remove = metrics.addSource(async () => structuredClone(other.take()));
  metrics.add(requestTo(PREDICT, "m", 1n), 200);
  other.add(requestTo({ ...PREDICT }, "m", 1n), 200);
  other.add(requestTo({ ...PREDICT }, "m", 1n), 404);
  other.add(requestTo({ ...INFER }, "m", 2n), 200);
  for (const _ of [1, 2]) await metrics.gather();
  metrics.add(requestTo(INFER, "m", 2n), 200);
  expect(valuesOf(metrics, "kserving_requests_total")).toEqual([
    ["m", "1", "a", "predict", "200", 2],
    ["m", "1", "a", "predict", "404", 1],
    ["m", "2", "b", "infer", "200", 2],
  ]);
  expect(valuesOf(metrics, "kserving_request_received_bytes_total")).toEqual([
    ["a", 30],
    ["b", 20],
  ]);
  remove();
  other.add(requestTo(INFER, "m", 2n), 200);
  await metrics.gather();
  expect(valuesOf(metrics, "kserving_requests_total")?.at(-1)?.at(-1)).toBe(2);
});

test("equal names of a route are one, however many there are", () => {
  const metrics = new RequestMetrics();
  for (let number = 0; number < 1000; number++) metrics.add(requestTo({ ...PREDICT }, "m", 1n), 200);
  metrics.forget([]);
  for (let number = 0; number < 1000; number++) metrics.add(requestTo({ ...PREDICT }, "n", 1n), 200);
  expect(valuesOf(metrics, "kserving_requests_total")).toEqual([["n", "1", "a", "predict", "200", 1000]]);
});

test("names of a route that come with each request are not kept, nor are models that are gone", async () => {
  const metrics = new RequestMetrics();
  metrics.add(requestTo(PREDICT, "m", 1n), 200);
  const before = await usedBytes();
  for (let number = 0; number < 20_000; number++) metrics.add(requestTo({ ...PREDICT }, "m", 1n), 200);
  for (let number = 0; number < 2000; number++) {
    metrics.add(requestTo(PREDICT, `model-${number}`, 1n), 200);
    metrics.forget([{ model: "m", version: 1n }]);
  }
  expect((await usedBytes()) - before).toBeLessThan(400_000);
  expect(metrics.series()).toHaveLength(1);
});

test("a version that is gone is forgotten, but not the bytes that it has got", () => {
  const metrics = new RequestMetrics();
  for (const version of [1n, 2n]) metrics.add(requestTo(PREDICT, "m", version), 200);
  metrics.forget([{ model: "m", version: 2n }]);
  expect(valuesOf(metrics, "kserving_requests_total")).toEqual([["m", "2", "a", "predict", "200", 1]]);
  metrics.add(requestTo(PREDICT, "m", 1n), 200);
  expect(valuesOf(metrics, "kserving_request_received_bytes_total")).toEqual([["a", 30]]);
  expect(valuesOf(metrics, "kserving_request_sent_bytes_total")).toEqual([["a", 9]]);
});
