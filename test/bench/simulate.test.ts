import { expect, test } from "vitest";
import { simulate } from "../../bench/simulation/simulate.ts";

const LOAD = { pods: 1, parallel: 1, serviceMs: 10, rate: 50, balancing: "random" } as const;

test("one pod at half its load has the latencies of queueing theory", () => {
  // M/M/1: exponential with the mean serviceMs / (1 - load) = 20 ms.
  const { p50Ms, p99Ms, busiest } = simulate(LOAD);
  expect(p50Ms).toBeCloseTo(20 * Math.log(2), -1);
  expect(Math.abs(p99Ms - 20 * Math.log(100))).toBeLessThan(5);
  expect(busiest).toBeCloseTo(0.5, 1);
});

test("work that was measured takes the times that were measured, and waits less where they are alike", () => {
  const alike = simulate({ ...LOAD, serviceMs: [10, 10] });
  expect(alike.p50Ms).toBeGreaterThan(9.999);
  expect(alike.p99Ms).toBeLessThan(simulate(LOAD).p99Ms / 1.5);
  // M/D/1: the mean wait is half of that of exponential times.
  expect(simulate({ ...LOAD, serviceMs: [10], rate: 1, requests: 100 }).p50Ms).toBeCloseTo(10, 5);
});

test("the same scenario has the same outcome", () => {
  expect(simulate(LOAD)).toEqual(simulate(LOAD));
});

test("choosing by load keeps requests shorter than choosing at random, and kept connections overload a pod", () => {
  const ten = { ...LOAD, pods: 10, rate: 650 };
  const [least, random, connections] = (["least", "random", "connections"] as const).map((balancing) =>
    simulate({ ...ten, balancing }),
  );
  expect(least!.p99Ms).toBeLessThan(random!.p99Ms);
  expect(connections!.busiest).toBeGreaterThan(1);
});

test("requests that a pod works on side by side do not wait for each other", () => {
  const two = simulate({ ...LOAD, parallel: 2, rate: 100 });
  expect(two.p99Ms).toBeLessThan(simulate({ ...LOAD, rate: 100 * 0.9 }).p99Ms);
});
