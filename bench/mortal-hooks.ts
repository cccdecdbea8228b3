/** Hooks that return what comes, until a request's first value is negative: that one ends their thread. */
import type { Tensors } from "kserving";

export function preprocess(inputs: Tensors): Tensors {
  if (Number(inputs.x?.data[0]) < 0) process.exit(1);
  return inputs;
}
