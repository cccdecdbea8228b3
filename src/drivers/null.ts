import { DEFAULT_SIGNATURE } from "../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../tensor/tensor.ts";
import { defineDriver, type Model, type PredictCall } from "./driver.ts";

/** Returns its inputs unchanged, so that hooks can be the whole service. Takes any names and needs no path. */
export default defineDriver<Record<never, never>>({
  name: "null",
  options: {},
  placement: "inline",
  pathless: true,
  load: async (): Promise<Model> => ({
    signatures: { [DEFAULT_SIGNATURE]: {} },
    concurrency: Number.POSITIVE_INFINITY,
    echoes: true,
    hookArgs: { model_inputs: {}, model_outputs: [] },
    predict: async (inputs, call) => wanted(inputs, call),
    close: async () => {},
  }),
});

function wanted(inputs: Tensors, call: PredictCall): Tensors {
  const { outputs } = call;
  if (outputs === undefined) return inputs;
  const names = new Set(outputs);
  return createTensors(Object.entries(inputs).filter(([name]) => names.has(name)));
}
