import { describe, expect, it } from "vitest";
import { Random } from "../grpc/random.ts";
import { createDecoders } from "./decoders.ts";
import { fuzz } from "./fuzz.ts";
import { usedMb } from "./used-mb.ts";

/** Twenty seconds together; `npm run fuzz` takes ten minutes and another seed. */
const [WARM_UP_MS, MS] = [2000, 18_000];
const LIMIT_MS = 60_000;
const MAX_GROWTH_MB = 64;

describe("every decoder of what clients send", () => {
  it("takes its own samples", async () => {
    for (const { samples, decode } of await createDecoders()) {
      for (const sample of samples) await decode(sample);
    }
  });

  it("takes or refuses changed messages, never fails otherwise, and keeps nothing", { timeout: LIMIT_MS }, async () => {
    const [decoders, random] = [await createDecoders(), new Random(11)];
    await fuzz(decoders, random, WARM_UP_MS);
    const before = usedMb();
    const counts = await fuzz(decoders, random, MS);
    expect(usedMb() - before).toBeLessThan(MAX_GROWTH_MB);
    expect(Math.min(...counts.map(({ taken, refused }) => taken + refused))).toBeGreaterThan(100);
  });

  it("is seen to fail where it does", async () => {
    const broken = {
      name: "broken",
      samples: [Buffer.from("x")],
      decode: () => {
        throw new RangeError("oops");
      },
    };
    await expect(fuzz([broken], new Random(1), 100)).rejects.toThrow("broken failed for the base64");
  });
});
