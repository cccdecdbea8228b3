import { createRecord } from "../tensor/record.ts";
import type { Dimension, TensorSpec } from "../tensor/signature/signature.ts";

/** The shapes of a model's inputs by their names, as hooks get them in `model_inputs`; empty for an unknown rank. */
export function shapesByName(
  inputs: readonly Pick<TensorSpec, "name" | "shape">[],
): Record<string, readonly Dimension[]> {
  const shapes = createRecord<readonly Dimension[]>();
  for (const { name, shape = [] } of inputs) shapes[name] = shape;
  return shapes;
}
