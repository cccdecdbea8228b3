import { afterEach, expect, test, vi } from "vitest";
import { LongWork } from "../../../src/platform/limits/long-work.ts";

let now = 0;
vi.spyOn(performance, "now").mockImplementation(() => now);

afterEach(() => {
  now = 0;
});

test("steps go on in one turn of the event loop until its time is over, then in the next one", async () => {
  const turns = new Set<number>();
  let [turn, isOver] = [0, false];
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const steps = function* (stepMs: number) {
    for (let step = 0; step < 5; step++) {
      turns.add(turn);
      now += stepMs;
      yield;
    }
  };
  await new LongWork().do(steps(2));
  expect([...turns]).toEqual([0]);
  turns.clear();
  await new LongWork().do(steps(11));
  isOver = true;
  expect(turns.size).toBe(5);
});

test("work ends where its request does", async () => {
  const leaving = new AbortController();
  let steps = 0;
  const endless = function* () {
    for (;;) {
      if (++steps === 3) leaving.abort(new Error("left"));
      now += 11;
      yield;
    }
  };
  await expect(new LongWork(leaving.signal).do(endless())).rejects.toThrow("left");
  expect(steps).toBe(3);
});
