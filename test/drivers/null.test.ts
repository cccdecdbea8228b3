import { fileURLToPath } from "node:url";
import driver from "../../src/drivers/null.ts";
import { createTensor, type Tensor } from "../../src/tensor/tensor.ts";
import { describeDriver } from "./driver-contract.ts";

const numbers = createTensor("float32", [2], Float32Array.of(1, 2));
const texts = createTensor("bytes", [], [Buffer.from("größe")]);
const echo = (inputs: Readonly<Record<string, Tensor>>) => ({ inputs, expected: inputs });

await describeDriver({
  driver,
  file: fileURLToPath(new URL("../../src/drivers/null.ts", import.meta.url)),
  modelPath: "",
  samples: [echo({ numbers, texts }), echo({ ["__proto__"]: numbers }), echo({})],
  skip: [
    { case: "recognises its own model and not every file", reason: "has no files" },
    { case: "names the path when there is no model", reason: "has no files" },
    { case: "keeps nothing of its inputs", reason: "returns them" },
    { case: "refuses a request that was cancelled before it began", reason: "is done at once" },
  ],
});
