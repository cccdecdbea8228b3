import { expect, test } from "vitest";
import { RunCounter, type RunStatistics } from "../../../src/models/queue/run-statistics.ts";
import { ReportedStatistics } from "../../../src/models/threads/model-client.ts";

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
