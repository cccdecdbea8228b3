import { createTensor } from "../../src/tensor/tensor.ts";
import { describeDriver } from "./driver-contract.ts";
import type { TensorRecord } from "./expect-tensors.ts";

const numbers = createTensor("float32", [2], Float32Array.of(1, 2));
const texts = createTensor("bytes", [], [Buffer.from("größe")]);
const echo = (inputs: TensorRecord) => ({ inputs, expected: inputs });

await describeDriver({
  name: "null",
  modelPath: "",
  samples: [echo({ numbers, texts }), echo({ ["__proto__"]: numbers }), echo({})],
  exempt: [
    { case: "recognises its own models and not every file", reason: "has no files" },
    { case: "names the path when there is no model", reason: "has no files" },
    { case: "keeps nothing of its inputs", reason: "returns them" },
    { case: "refuses a request that was cancelled before it began", reason: "is done at once" },
  ],
});
