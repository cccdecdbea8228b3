import { expect, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { LoadCounter } from "../../src/serving/load-counter.ts";
import type { VersionStatus } from "../../src/serving/version-status.ts";

const ME = { model: "m", version: 1n };
const at = (state: VersionStatus["state"], generation: number, error?: ServingError): VersionStatus => ({
  ...ME,
  state,
  generation,
  error,
  labels: [],
});
const broken = () => new ServingError("failed_precondition", "broken");

function countsAfter(...statuses: VersionStatus[]) {
  const counter = new LoadCounter();
  for (const status of statuses) counter.note(status);
  const [counts] = counter.counts([ME]);
  return [counts?.succeeded, counts?.failed];
}

test("each successful load counts once, however often its version is reported", () => {
  expect(countsAfter(at("START", 0), at("LOADING", 0), at("AVAILABLE", 1), at("AVAILABLE", 1))).toEqual([1, 0]);
  expect(countsAfter(at("AVAILABLE", 1), at("AVAILABLE", 2))).toEqual([2, 0]);
});

test("each try that fails counts, an error that stays does not", () => {
  const error = broken();
  expect(countsAfter(at("LOADING", 0, error), at("LOADING", 0, error), at("LOADING", 0, broken()))).toEqual([0, 2]);
});

test("a version that was away and comes again begins where it was", () => {
  expect(countsAfter(at("AVAILABLE", 1), at("END", 1), at("LOADING", 0), at("AVAILABLE", 1))).toEqual([2, 0]);
});

test("a version that is not known any more is forgotten", () => {
  const counter = new LoadCounter();
  counter.note(at("AVAILABLE", 1));
  expect(counter.counts([])).toEqual([]);
  expect(counter.counts([ME])).toEqual([]);
});
