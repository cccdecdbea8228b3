import { expect, it } from "vitest";
import { DecodeBudget } from "../../../../src/platform/limits/memory/decode-budget.ts";
import {
  type Features,
  readFeatures,
  writeFeatures,
} from "../../../../src/protocols/tensorflow-serving/examples/features.ts";

const budget = () => new DecodeBudget(1_000_000);

const features: Features = new Map([
  ["f", { kind: "float", values: [0.5, -1, 0] }],
  ["i", { kind: "int64", values: [0n, -1n, 2n ** 63n - 1n] }],
  ["b", { kind: "bytes", values: [Uint8Array.from(Buffer.from("ü")), new Uint8Array(0)] }],
  ["", { kind: "float", values: [] }],
]);

it("reads what it has written", () => {
  expect(readFeatures(writeFeatures(features), budget())).toEqual(features);
});

it("reads values that are not packed, and of features of one name the last", () => {
  const unpacked = Buffer.from([13, 0, 0, 128, 63, 13, 0, 0, 0, 64]);
  const feature = Buffer.concat([Buffer.from([18, unpacked.length]), unpacked]);
  const entry = Buffer.concat([Buffer.from([10, 1, 97, 18, feature.length]), feature]);
  const map = Buffer.concat([Buffer.from([10, entry.length]), entry]);
  const example = Buffer.concat([Buffer.from([10, map.length]), map]);
  expect(readFeatures(example, budget())).toEqual(new Map([["a", { kind: "float", values: [1, 2] }]]));
  const before = writeFeatures(new Map([["a", { kind: "int64", values: [7n] }]]));
  expect(readFeatures(Buffer.concat([before, example]), budget())).toEqual(
    new Map([["a", { kind: "float", values: [1, 2] }]]),
  );
});

it.each([
  ["half a message", Buffer.from([10, 5, 1])],
  ["packed floats of a broken length", Buffer.from("0a0c0a0a0a016112051203010203", "hex")],
])("refuses %s", (_, bytes) => {
  expect(() => readFeatures(bytes, budget())).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

it("refuses more than the budget has room for", () => {
  const many = writeFeatures(new Map([["i", { kind: "int64", values: Array(10_000).fill(0n) }]]));
  expect(() => readFeatures(many, new DecodeBudget(100_000))).toThrow(/takes .* bytes in memory/);
});
