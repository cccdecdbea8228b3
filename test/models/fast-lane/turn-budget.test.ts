import { expect, test } from "vitest";
import { TurnBudget } from "../../../src/models/fast-lane/fast-lane.ts";

test("a turn of the event loop has time for some runs, and the next turn for as many", async () => {
  const budget = new TurnBudget();
  const takeAll = () => Array.from({ length: 5 }, () => budget.take(0.25));
  const [first, again] = [takeAll(), budget.take(0.25)];
  await new Promise(setImmediate);
  expect(first).toEqual([true, true, true, true, false]);
  expect(again).toBe(false);
  expect(takeAll()).toEqual(first);
});

test("a run that is longer than a turn's share is never permitted", () => {
  expect(new TurnBudget().take(1.5)).toBe(false);
});
