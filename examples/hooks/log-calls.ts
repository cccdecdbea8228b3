/**
 * Logs its options at the start, and each call. Options reach hooks as text, under the names that `-o` gave them.
 *
 *     kserving --driver null --hooks examples/hooks/log-calls.ts -o greeting=hello --http-enable
 *     curl http://localhost:9001/predict -F float_x=1
 */
import { defineHooks } from "kserving";

export default defineHooks({
  init_hook(params, ctx) {
    ctx.log.info("Got params", params);
  },

  preprocess(inputs, ctx) {
    ctx.log.info("Running preprocess", { inputs: Object.keys(inputs) });
    return inputs;
  },

  postprocess(outputs, ctx) {
    ctx.log.info("Running postprocess", { outputs: Object.keys(outputs) });
    return outputs;
  },
});
