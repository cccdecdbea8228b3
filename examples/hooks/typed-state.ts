/**
 * State with types: defineHooks<State> makes the compiler know what a request carries on `ctx` from step to step.
 * It gives the model numbers around 0 with deviation 1, and brings what the model answers back to the client's scale.
 *
 *     kserving --driver null --hooks examples/hooks/typed-state.ts --http-enable
 *     curl http://localhost:9001/predict -F floats_x=10,20,30
 */
import { createTensor, defineHooks, ServingError, type Tensor } from "kserving";

interface State {
  mean: number;
  deviation: number;
}

export default defineHooks<State>({
  preprocess(inputs, ctx) {
    const x = toNumbers(inputs.x);
    const mean = average(x.data);
    const deviation = Math.sqrt(average(x.data.map((value) => (value - mean) ** 2))) || 1;
    Object.assign(ctx, { mean, deviation });
    return {
      x: createTensor(
        "float32",
        x.shape,
        x.data.map((value) => (value - mean) / deviation),
      ),
    };
  },

  postprocess(outputs, ctx) {
    const x = toNumbers(outputs.x);
    // Fields of the state are undefined until some hook has set them: the compiler asks what to do then.
    const { mean = 0, deviation = 1 } = ctx;
    return {
      x: createTensor(
        "float32",
        x.shape,
        x.data.map((value) => value * deviation + mean),
      ),
      mean,
      deviation,
    };
  },
});

function toNumbers(tensor: Tensor | undefined): Tensor<"float32"> {
  if (tensor?.dtype === "float32" && tensor.data.length > 0) return tensor;
  throw new ServingError("invalid_argument", 'Expected float32 numbers as input "x".');
}

function average(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
