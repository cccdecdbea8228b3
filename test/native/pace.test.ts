import { describe, expect, it } from "vitest";
import { Pace } from "../../src/native/pace.ts";

/** Predictions for runs on 100 and on 101 bytes after runs of these lengths on 100 bytes. */
function expected(...lengthsMs: number[]): boolean[] {
  const pace = new Pace(0.3);
  for (const ms of lengthsMs) pace.note(100, ms);
  return [pace.isQuick(100), pace.isQuick(101)];
}

describe("the pace of a model", () => {
  it.each([
    ["nothing is known", [], [false, false]],
    ["a few runs were quick", [0.1, 0.1], [false, false]],
    ["enough were quick, of no fewer bytes", [0.1, 0.1, 0.1], [true, false]],
    ["the last one was slow", [0.1, 0.1, 0.1, 5], [false, false]],
  ])("when %s", (_what, lengthsMs, answer) => {
    expect(expected(...lengthsMs)).toEqual(answer);
  });
});
