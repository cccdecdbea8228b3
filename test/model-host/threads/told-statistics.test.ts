import { expect, test } from "vitest";
import { RunCounter, type RunStatistics } from "../../../src/model-host/queue/run-statistics.ts";
import { ToldStatistics } from "../../../src/model-host/threads/told-statistics.ts";

function statisticsOf(requests: number): RunStatistics {
  const counter = new RunCounter();
  for (let request = 0; request < requests; request++) counter.addRequest(1);
  return counter.statistics();
}

const never = () => new Promise<never>(() => {});

test("a thread that does not answer is told of as it was last, and asked once", async () => {
  const answers = [async () => statisticsOf(3), never];
  let asked = 0;
  const told = new ToldStatistics(() => answers[asked++]!());
  expect((await told.read()).requests).toBe(3);
  expect((await told.read()).requests).toBe(3);
  expect((await told.read()).requests).toBe(3);
  expect(asked).toBe(2);
});

test("what a lost thread has told counts together with what its replacement tells", async () => {
  const first = new ToldStatistics(async () => statisticsOf(3));
  await first.read();
  const lost = new ToldStatistics(async () => Promise.reject(new Error("lost")), first.known);
  expect((await lost.read()).requests).toBe(3);
  const next = new ToldStatistics(async () => statisticsOf(2), lost.known);
  const { requests, queueTimes } = await next.read();
  expect([requests, queueTimes.counts.reduce((sum, count) => sum + count, 0)]).toEqual([5, 5]);
});
