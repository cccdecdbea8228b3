/** A user's own driver that takes images and gives the first 1000 values of each: a model that costs nothing. */
import { createTensor, DEFAULT_SIGNATURE, defineDriver, type Tensor } from "kserving";

const COUNT = 1000;

export default defineDriver({
  name: "first-values",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: {
      [DEFAULT_SIGNATURE]: {
        inputs: [{ name: "x", dtype: "float32", shape: [-1, 224, 224, 3] }],
        outputs: [{ name: "y", dtype: "float32", shape: [-1, COUNT] }],
      },
    },
    predict: async ({ x }) => ({ y: createTensor("float32", [1, COUNT], firstValues(x as Tensor<"float32">)) }),
    close: async () => {},
  }),
});

function firstValues({ data }: Tensor<"float32">): Float32Array<ArrayBuffer> {
  return new Float32Array(data.subarray(0, COUNT));
}
