/**
 * Two models in a row, with one slot per model: preprocess1, model 1, preprocess2, model 2, postprocess2.
 * `null` means that nothing happens there; here what the first model gives goes straight to preprocess2.
 *
 *     kserving --driver null --driver null --hooks examples/hooks/two-models.ts --http-enable
 *     curl http://localhost:9001/predict -F float_x=1
 */
import { defineHooks, type Hook, type Tensors } from "kserving";

/** A hook is a plain function, so it can be wrapped like any other. */
function logged(hook: Hook): Hook {
  return (values, ctx, args) => {
    ctx.log.info(`Running ${hook.name}`);
    return hook(values, ctx, args);
  };
}

function preprocess1(inputs: Tensors) {
  return inputs;
}

function preprocess2(inputs: Tensors) {
  return inputs;
}

function postprocess2(outputs: Tensors) {
  return outputs;
}

export default defineHooks({
  preprocess: [logged(preprocess1), logged(preprocess2)],
  postprocess: [null, logged(postprocess2)],
});
