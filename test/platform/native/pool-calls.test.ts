import { describe, expect, it } from "vitest";
import { PoolCalls, QuickRuns } from "../../../src/platform/native/pool-calls.ts";

it("lets all threads together have so many calls in the pool", () => {
  const memory = new SharedArrayBuffer(4);
  const [one, other] = [new PoolCalls(memory, 2), new PoolCalls(memory, 2)];
  expect([one.tryBegin(), other.tryBegin(), one.tryBegin(), other.tryBegin()]).toEqual([true, true, false, false]);
  other.end();
  expect([one.tryBegin(), other.tryBegin()]).toEqual([true, false]);
});

/** Predictions for runs on 100 and on 101 bytes after runs of these lengths on 100 bytes. */
function expected(...lengthsMs: number[]): boolean[] {
  const runs = new QuickRuns(0.3);
  for (const ms of lengthsMs) runs.note(100, ms);
  return [runs.isQuick(100), runs.isQuick(101)];
}

describe("quick runs in a row", () => {
  it.each([
    ["nothing is known", [], [false, false]],
    ["a few runs were quick", [0.1, 0.1], [false, false]],
    ["enough were quick, of no fewer bytes", [0.1, 0.1, 0.1], [true, false]],
    ["the last one was slow", [0.1, 0.1, 0.1, 5], [false, false]],
  ])("when %s", (_what, lengthsMs, answer) => {
    expect(expected(...lengthsMs)).toEqual(answer);
  });
});
