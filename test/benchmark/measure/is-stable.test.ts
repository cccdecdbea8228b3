import { expect, test } from "vitest";
import { isStable } from "../../../src/benchmark/measure/is-stable.ts";
import { Window } from "../../../src/benchmark/measure/window.ts";

/** A second with so many requests of so many milliseconds each. */
function windowOf(requests: number, ms: number): Window {
  const window = new Window(1);
  const latenciesMs = new Float64Array(requests).fill(ms);
  window.add({ seconds: 1, latenciesMs, failures: {}, busyShare: 0.5, backlog: 0 });
  return window;
}

test("a measurement is stable once its last three windows agree within 10 % in requests and latency", () => {
  const steady = [windowOf(100, 10), windowOf(105, 10.5), windowOf(98, 9.8)];
  expect(isStable(steady)).toBe(true);
  expect(isStable([windowOf(10, 90), ...steady])).toBe(true);
  expect(isStable(steady.slice(1))).toBe(false);
  expect(isStable([...steady, windowOf(70, 10)])).toBe(false);
  expect(isStable([...steady, windowOf(100, 14)])).toBe(false);
  expect(isStable([windowOf(0, 0), windowOf(0, 0), windowOf(0, 0)])).toBe(false);
});

test("windows of several threads count each second once", () => {
  const window = new Window(2);
  const share = { seconds: 1, latenciesMs: new Float64Array(50).fill(3), failures: { "status 503": 2 }, backlog: 0 };
  window.add({ ...share, busyShare: 0.2 });
  window.add({ ...share, busyShare: 0.6 });
  expect([window.seconds, window.requestsPerSecond, window.busyShare]).toEqual([1, 100, 0.4]);
  expect([window.percentileMs(0.99), Object.fromEntries(window.failures)]).toEqual([3, { "status 503": 4 }]);
});
