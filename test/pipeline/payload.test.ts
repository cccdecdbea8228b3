import { expect, test } from "vitest";
import { payloadBytes } from "../../src/pipeline/payload.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";

test("the size of a payload has its long names, of which a client may send more than values", () => {
  const bytesOf = (...names: string[]) =>
    payloadBytes({ kind: "tensors", tensors: toTensors(Object.fromEntries(names.map((name) => [name, "a"]))) });
  expect(bytesOf("x", "n".repeat(256))).toBe(2);
  expect(bytesOf("x", "n".repeat(4096))).toBe(2 + 2 * 4096);
});
