import { expect, onTestFinished, test } from "vitest";
import { HeartbeatWatch, StartMark, startHeartbeat } from "../../../src/platform/threads/heartbeat.ts";

/** A watch with a stall of 50 ms, and a promise of its first call. */
function watch(memory = new SharedArrayBuffer(4)) {
  let stalls = 0;
  let tell = () => {};
  const stalled = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const onStall = () => {
    stalls++;
    tell();
  };
  const heartbeat = new HeartbeatWatch(50, onStall, memory);
  onTestFinished(() => heartbeat.stop());
  return { memory, stalled, stalls: () => stalls };
}

test("the first beat comes at once, and further ones keep coming", async () => {
  const memory = new SharedArrayBuffer(4);
  startHeartbeat(memory);
  const beats = new Int32Array(memory);
  expect(beats[0]).toBe(1);
  await expect.poll(() => beats[0]).toBeGreaterThan(2);
});

test("a paused heartbeat is a stall, though the event loop turns, until every pause is over", async () => {
  const { memory, stalled } = watch();
  const pause = startHeartbeat(memory);
  const resumes = [pause(), pause()];
  await stalled;
  const beats = new Int32Array(memory);
  const paused = beats[0];
  resumes[0]?.();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(beats[0]).toBe(paused);
  resumes[1]?.();
  await expect.poll(() => beats[0]).toBeGreaterThan(paused ?? 0);
});

test("time in which the watching thread did not run is no stall of the other", async () => {
  const { memory, stalls } = watch();
  const beats = new Int32Array(memory);
  beats[0] = 1;
  await expect.poll(() => stalls(), { interval: 10 }).toBe(1);
  for (let beat = 0; beat < 3; beat++) {
    for (const end = performance.now() + 300; performance.now() < end; );
    // Timers come first, and then what another thread would have done.
    await new Promise((resolve) => setTimeout(resolve, 1));
    for (let wait = 0; wait < 12; wait++) {
      beats[0]!++;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  expect(stalls()).toBe(1);
});

test("a thread that has not begun to beat has not stalled, however long it takes", async () => {
  const { memory, stalled, stalls } = watch();
  // Four times the stall: long enough that it would have been told.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(stalls()).toBe(0);
  new Int32Array(memory)[0] = 1;
  await stalled;
});

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
