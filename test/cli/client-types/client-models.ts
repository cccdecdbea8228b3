import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
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

/**
 * Models for generated clients: of a file, of every datatype, of any inputs, of images under a name that clients have,
 * and one that tells a header.
 */
export function clientModels() {
  const driver = `${tempFolder({ "driver.ts": PIXELS })}/driver.ts`;
  return {
    half: { path: "test/fixtures/models/half-plus-two.onnx" },
    "every-type": { driver: "null", hooks: every },
    any: { driver: "null" },
    small: { driver: "null", hooks: small },
    Header: { driver },
  };
}
