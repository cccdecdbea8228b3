import { expect, test } from "vitest";
import { LongWork } from "../../../src/platform/limits/long-work.ts";

/** Keeps the thread for longer than a turn may have. */
function work(turnMs: number): void {
  const end = performance.now() + turnMs + 1;
  while (performance.now() < end);
}

test("steps go on in one turn of the event loop until its time is over, then in the next one", async () => {
  const [turnMs, turns] = [1, new Set<number>()];
  let [turn, isOver] = [0, false];
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const steps = function* (stepMs: number) {
    for (let step = 0; step < 5; step++) {
      turns.add(turn);
      if (stepMs > 0) work(stepMs);
      yield;
    }
  };
  await new LongWork(undefined, 60_000).do(steps(0));
  expect([...turns]).toEqual([0]);
  turns.clear();
  await new LongWork(undefined, turnMs).do(steps(turnMs));
  isOver = true;
  expect(turns.size).toBe(5);
});

test("work ends where its request does", async () => {
  const leaving = new AbortController();
  let steps = 0;
  const endless = function* () {
    for (;;) {
      if (++steps === 3) leaving.abort(new Error("left"));
      work(1);
      yield;
    }
  };
  await expect(new LongWork(leaving.signal, 1).do(endless())).rejects.toThrow("left");
  expect(steps).toBe(3);
});
