import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { PIXELS } from "../../helpers/echo-driver.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const DTYPES: readonly DType[] = [
  ...(["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] as const),
  ...(["float16", "bfloat16", "float32", "float64", "bytes"] as const),
];
/** One of each datatype of KServe V2: `in int8`. */
const EVERY = DTYPES.map((dtype) => ({ name: `in ${dtype}`, dtype, shape: [-1] }));

const every: Hooks = { inputs: EVERY, outputs: EVERY, process: (inputs) => inputs };
const small: Hooks = {
  inputs: [{ name: "n", dtype: "int8", shape: [-1] }],
  process: ({ n }, { metadata }) => ({ n: n ?? 0, who: `${metadata["x-who"]}` }),
};

/** Counts up to a number, or fails before; a file tells which requests were left. */
function count(log: string): Hooks {
  return {
    inputs: [
      { name: "to", dtype: "int32", shape: [1] },
      { name: "fails", dtype: "bool", shape: [1] },
    ],
    outputs: [{ name: "value", dtype: "int32", shape: [1] }],
    async *process({ to, fails }, ctx) {
      try {
        for (let value = 0; value < Number(to?.data[0]); value++) {
          yield { value: Int32Array.of(value) };
          await new Promise(setImmediate);
        }
        if (fails?.data[0] === 1) throw new Error("there is no third");
      } finally {
        if (ctx.signal.aborted) appendFileSync(log, "left\n");
      }
    },
  };
}

/** Answers in parts of texts, of which one is none. */
const spell: Hooks = {
  async *process() {
    yield { text: ["a", "b"] };
    yield { text: createTensor("bytes", [2], [Buffer.from("hü"), Uint8Array.of(255, 0)]) };
  },
};
/** Gives what it gets twice. */
const twice: Hooks = {
  inputs: EVERY,
  outputs: EVERY,
  async *process(inputs) {
    yield inputs;
    yield inputs;
  },
};

/**
 * Models for generated clients: of a file, of every datatype, of any inputs, of images under a name that clients have,
 * one that tells a header, and three that answer in parts.
 */
export function clientModels(log = join(tempFolder({ log: "" }), "log")) {
  const driver = `${tempFolder({ "driver.ts": PIXELS })}/driver.ts`;
  return {
    half: { path: "test/fixtures/models/half-plus-two.onnx" },
    "every-type": { driver: "null", hooks: every },
    any: { driver: "null" },
    small: { driver: "null", hooks: small },
    Header: { driver },
    count: { driver: "null", hooks: count(log) },
    spell: { driver: "null", hooks: spell },
    twice: { driver: "null", hooks: twice },
  };
}
