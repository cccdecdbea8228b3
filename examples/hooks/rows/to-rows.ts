import { type Tensor, type Tensors, toNested } from "kserving";

/** One entry for each row of a model's outputs: the value of its only output, or an object with a value for each. */
export function toRows(outputs: Tensors): unknown[] {
  const columns = Object.entries(outputs).map(([name, tensor]) => [name, toLists(tensor)] as const);
  const [[, only] = ["", []], ...others] = columns;
  if (others.length === 0) return only;
  return only.map((_, row) => Object.fromEntries(columns.map(([name, values]) => [name, values[row]])));
}

function toLists(tensor: Tensor): unknown[] {
  return toNested(tensor, (value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  ) as unknown[];
}
