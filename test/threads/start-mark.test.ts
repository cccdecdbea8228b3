import { expect, test } from "vitest";
import { StartMark } from "../../src/threads/start-mark.ts";

/** The ids are asked for in this order, and begin again after the last. */
const LAST_ID = 0x3fffffff;

test("knows on the other side what was begun, and what was not", () => {
  const here = new StartMark();
  const there = new StartMark(here.memory);
  expect(here.hasStarted(1)).toBe(false);
  there.start(7);
  expect([5, 6, 7, 8, 39].map((id) => here.hasStarted(id))).toEqual([true, true, true, false, false]);
});

test("knows it too where the ids begin again", () => {
  const mark = new StartMark();
  mark.start(LAST_ID);
  expect([LAST_ID - 1, LAST_ID, 0, 1].map((id) => mark.hasStarted(id))).toEqual([true, true, false, false]);
  mark.start(0);
  expect([LAST_ID, 0, 1].map((id) => mark.hasStarted(id))).toEqual([true, true, false]);
});
