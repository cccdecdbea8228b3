/**
 * The second model runs only if the first one found something: `ml-serving-ignore` leaves a model out.
 * Its postprocess runs all the same, so that it can say what the answer is then.
 *
 *     kserving --driver null --driver null --hooks examples/hooks/skip-second-model.ts --http-enable
 *     curl http://localhost:9001/predict -d '{"inputs": {"face-boxes": {"dtype": 1, "data": [[10, 20, 30, 40]]}}}'
 *     curl http://localhost:9001/predict -d '{"inputs": {"face-boxes": {"dtype": 1, "data": []}}}'
 */
import { defineHooks, type HookContext, type Tensors } from "kserving";

interface State {
  skip_next: boolean;
}

/** `ctx` belongs to this one request and goes with it from hook to hook. */
function postprocess1(outputs: Tensors, ctx: HookContext<State>) {
  const faces = outputs["face-boxes"]?.shape[0] ?? 0;
  ctx.skip_next = faces === 0;
  return outputs;
}

function preprocess2(inputs: Tensors, ctx: HookContext<State>) {
  return ctx.skip_next ? { ...inputs, "ml-serving-ignore": true } : inputs;
}

function postprocess2(outputs: Tensors, ctx: HookContext<State>) {
  return ctx.skip_next ? {} : outputs;
}

export default defineHooks<State>({
  preprocess: [null, preprocess2],
  postprocess: [postprocess1, postprocess2],
});
