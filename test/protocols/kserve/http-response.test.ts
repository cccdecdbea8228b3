import { expect, test } from "vitest";
import { writeAnswer } from "../../../src/protocols/kserve/http-response.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";

const COUNT = 100_000;
const tensor = createTensor("float32", [COUNT], new Float32Array(COUNT));
const answer = {
  id: "",
  model: "m",
  version: 1n,
  metadata: {},
  outputs: [{ name: "y", datatype: "FP32", shape: tensor.shape, tensor }],
};

test("the JSON before an output that is sent as bytes takes no memory for its numbers", () => {
  const { json, binary } = writeAnswer(answer as never, { isBinary: true, isStrict: false, outputs: [] });
  expect(binary.map(({ byteLength }) => byteLength)).toEqual([4 * COUNT]);
  expect(json.buffer.byteLength).toBeLessThan(COUNT);
});
