import { expect, test } from "vitest";
import { codecComparisons } from "../../../bench/kserve/codecs.ts";

test.each(codecComparisons().map((comparison) => [comparison.name, comparison] as const))(
  "the benchmark of %s runs on both sides",
  async (_, { ours, beside }) => {
    await expect(Promise.all([ours(), beside()])).resolves.toHaveLength(2);
  },
);
