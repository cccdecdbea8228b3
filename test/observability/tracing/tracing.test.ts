import { expect, test } from "vitest";
import { readSampler } from "../../../src/observability/tracing/tracing.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

test("samplers of several threads have one choice, and one number of requests that are left", () => {
  const sampler = readSampler({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" });
  const other = readSampler({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" }, sampler.shared);
  expect([other.isOn, other.ratio, other.left]).toEqual([true, 0.25, Number.POSITIVE_INFINITY]);
  other.ratio = 1;
  sampler.left = 3;
  const taken = [sampler, other, sampler, other, sampler].map((one) => one.chooses(TRACE, undefined) && one.take());
  expect(taken).toEqual([true, true, true, false, false]);
  expect([sampler.left, other.left]).toEqual([0, 0]);
  other.left = Number.POSITIVE_INFINITY;
  expect(sampler.chooses(TRACE, undefined) && sampler.take()).toBe(true);
  sampler.isOn = false;
  expect(other.chooses(TRACE, undefined)).toBe(false);
});
