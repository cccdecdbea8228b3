/** A model in a thread of its own that takes images; their number comes back. */
import { createTensor, DEFAULT_SIGNATURE, defineDriver } from "kserving";

export default defineDriver({
  name: "thread-images",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { [DEFAULT_SIGNATURE]: { inputs: [{ name: "x", dtype: "float32", shape: [-1, 8, 8, 3] }] } },
    predict: async ({ x }) => ({ y: createTensor("int32", [], Int32Array.of(x?.shape[0] ?? 0)) }),
    close: async () => {},
  }),
});
