/**
 * State with types: defineHooks<State> makes the compiler know what a request carries on `ctx` from step to step.
 * It gives the model numbers around 0 with deviation 1, and brings what the model answers back to the client's scale.
 *
 *     kserving --driver null --hooks examples/hooks/typed-state.ts --http-enable
 *     curl http://localhost:9001/predict -F float_x=10,20,30
 */
import { createTensor, defineHooks, ServingError, type Tensor } from "kserving";

interface State {
  mean: number;
  deviation: number;
}

export default defineHooks<State>({
  preprocess({ x }, ctx) {
    const { shape, data } = toNumbers(x);
    const mean = average(data);
    const deviation = Math.sqrt(average(data.map((value) => (value - mean) ** 2))) || 1;
    Object.assign(ctx, { mean, deviation });
    const standard = data.map((value) => (value - mean) / deviation);
    return { x: createTensor("float32", shape, standard) };
  },

  postprocess({ x }, ctx) {
    const { shape, data } = toNumbers(x);
    // Fields of the state are undefined until a hook has set them, so the compiler asks what to do then.
    const { mean = 0, deviation = 1 } = ctx;
    const scaled = data.map((value) => value * deviation + mean);
    return { x: createTensor("float32", shape, scaled), scale: Float32Array.of(mean, deviation) };
  },
});

function toNumbers(tensor: Tensor | undefined): Tensor<"float32"> {
  if (tensor?.dtype === "float32" && tensor.data.length > 0) return tensor;
  throw new ServingError("invalid_argument", 'Expected float32 numbers as input "x".');
}

function average(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
