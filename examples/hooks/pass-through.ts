/**
 * The smallest hooks: what comes goes on unchanged. Copy it and fill in your own steps.
 *
 *     kserving --driver null --hooks examples/hooks/pass-through.ts --http-enable
 *     curl http://localhost:9001/predict -F float_x=1,2,3
 */
import type { Tensors } from "kserving";

/** Before the model: what you return are the model's inputs. */
export function preprocess(inputs: Tensors) {
  return inputs;
}

/** After the model: what you return is the answer. */
export function postprocess(outputs: Tensors) {
  return outputs;
}
