import { expect, onTestFinished, test, vi } from "vitest";
import { RequestMetrics } from "../../src/observability/metrics/request-metrics.ts";
import { RequestRecord } from "../../src/observability/request-record.ts";
import { LiveHistory } from "../../src/proxy/live-history.ts";

const NO_RUNS = { requests: 0, queueMs: 0, runMs: 0, runs: [] };

/** A service whose statistics are as given at the moment. */
function fakeService() {
  const state = { runs: NO_RUNS as object };
  const threads = { hook: { ready: 1, missing: 0, lost: 0 }, model: { ready: 2, missing: 0, lost: 0 } };
  const statistics = async () => [{ model: "m", version: 1n, runs: state.runs, threads }] as never;
  return { state, statistics, inFlight: () => ({ count: 3, maxCount: 9 }) };
}

test("each sample has what happened since the one before", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const [history, metrics, service] = [new LiveHistory(), new RequestMetrics(), fakeService()];
  history.count(metrics);
  const answer = (status: number, isServed = true) => {
    const record = new RequestRecord({});
    record.startTiming();
    if (isServed) record.servedBy("m", 1n);
    metrics.add(record, status);
  };
  answer(200);
  await history.sample(service);
  expect(history.after(0)).toEqual([]);
  for (const status of [200, 200, 400]) answer(status);
  answer(404, false);
  service.state.runs = { requests: 4, queueMs: 10, runMs: 5, runs: [{ rows: 3, count: 2, ms: 5 }] };
  vi.advanceTimersByTime(5000);
  await history.sample(service);
  const [sample] = history.after(0);
  expect(sample).toMatchObject({ inFlight: 3, threads: 3, queueMs: 2.5, rows: 3, p50: expect.any(Number) });
  expect((sample?.failures ?? 0) / (sample?.requests ?? 1)).toBeCloseTo(1 / 3);
  vi.advanceTimersByTime(5000);
  await history.sample(service);
  const [idle] = history.after(sample?.at ?? 0);
  expect(idle).toMatchObject({ requests: 0, failures: 0, p50: null, p99: null, queueMs: null, rows: null });
});
