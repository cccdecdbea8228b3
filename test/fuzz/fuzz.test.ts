import { describe, expect, it } from "vitest";
import { Random } from "../grpc/random.ts";
import { createDecoders } from "./decoders.ts";
import { fuzz } from "./fuzz.ts";

const MS = 3000;

describe("every decoder of what clients send", () => {
  it("takes its own samples", async () => {
    for (const { samples, decode } of await createDecoders()) {
      for (const sample of samples) await decode(sample);
    }
  });

  it("takes or refuses changed messages, and never fails otherwise", async () => {
    const counts = await fuzz(await createDecoders(), new Random(11), MS);
    expect(Math.min(...counts.map(({ taken, refused }) => taken + refused))).toBeGreaterThan(20);
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
