/**
 * A loop whose output is its next input, and each state a part of the answer: the client sees every step as it is made,
 * and ends the loop by leaving. For states that outlast a request see stateful-loop.ts.
 *
 *     kserving --driver onnx --model-path test/fixtures/models/half-plus-two.onnx \
 *              --hooks examples/hooks/until-it-rests.ts --http-enable
 *     curl -N http://localhost:9001/v2/models/default/generate_stream -d '{"x": 100}'
 *     curl http://localhost:9001/v1/models/default:predict -d '{"inputs": {"x": [100]}}'
 *
 * This model is y = x / 2 + 2, which comes to rest at 4; a recurrent network or a solver takes its place.
 */
import { defineHooks, tensorOf } from "kserving";

/** Change below which the state is at rest, and steps after which it is given up. */
const REST = 0.01;
const MAX_STEPS = 1000;

export default defineHooks({
  inputs: [{ name: "x", dtype: "float32", shape: [1] }],
  outputs: [
    { name: "step", dtype: "int32", shape: [1] },
    { name: "state", dtype: "float32", shape: [1] },
  ],

  async *process({ x }, _ctx, { driver }) {
    let state = x.data[0] as number;
    for (let step = 1; step <= MAX_STEPS; step++) {
      const before = state;
      const answer = await driver.predict({ x: [before] });
      state = tensorOf(answer, "y", "float32").data[0] as number;
      yield { step: Int32Array.of(step), state: Float32Array.of(state) };
      if (Math.abs(state - before) < REST) return;
    }
  },

  /** One answer is the last state. */
  collect: (parts) => ({ ...parts.at(-1) }),
});
