import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { concatRows, rowCount } from "../../tensor/rows.ts";
import { createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/** The rows that all inputs have; throws `invalid_argument`, in TensorFlow Serving's words first, if they differ. */
export function rowsOf(inputs: Tensors): number {
  const [first, ...others] = Object.entries(inputs).map(([name, tensor]) => ({ name, rows: rowCount(tensor) }));
  if (first === undefined) return 1;
  const scalar = [first, ...others].find(({ rows }) => rows === undefined);
  if (scalar !== undefined)
    throw invalidArgument(`Batching Run() input tensors must have at least one dimension: "${scalar.name}" has none.`);
  const other = others.find(({ rows }) => rows !== first.rows);
  if (other === undefined) return first.rows as number;
  throw invalidArgument(
    `Batching Run() input tensors must have equal 0th-dimension size: "${other.name}" has ${other.rows} rows, but "${first.name}" has ${first.rows}.`,
  );
}

/** Checks that all inputs have rows, and as many of them. */
export function haveSameRows(inputs: Tensors): boolean {
  const counts = Object.values(inputs).map(rowCount);
  return counts.every((count) => count !== undefined && count === counts[0]);
}

/** Throws `invalid_argument`, in TensorFlow Serving's words, for an input of more rows than `maxRows`; 0 = any. */
export function assertRequestRows(inputs: Tensors, maxRows: number): void {
  if (maxRows === 0) return;
  const rows = Math.max(...Object.values(inputs).map((tensor) => rowCount(tensor) ?? 0));
  if (rows > maxRows) throw invalidArgument(`Task size ${rows} is larger than maximum input batch size ${maxRows}`);
}

/** Outputs with so many rows; throws `failed_precondition`, in TensorFlow Serving's words first, for others. */
export function checkedRows(outputs: Tensors, rows: number): Tensors {
  for (const [name, tensor] of Object.entries(outputs)) {
    const count = rowCount(tensor);
    if (count === rows) continue;
    const problem =
      count === undefined
        ? "Batched output tensor has 0 dimensions"
        : "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors";
    throw failedPrecondition(`${problem}: "${name}" has shape [${tensor.shape}] for ${rows} rows.`);
  }
  return outputs;
}

/** The rows of several requests that go together, behind each other. */
export function joinRows(all: readonly Tensors[]): Tensors {
  const [first = {}] = all;
  return createTensors(Object.keys(first).map((name) => [name, concatRows(all.map((tensors) => tensors[name]!))]));
}

/**
 * The outputs of the parts of one request, behind each other; throws `failed_precondition` if they differ in more
 * than their number of rows.
 */
export function joinParts(parts: readonly Tensors[]): Tensors {
  const [first = {}] = parts;
  for (const part of parts) for (const [name, tensor] of Object.entries(first)) assertAlike(name, tensor, part[name]!);
  return joinRows(parts);
}

function assertAlike(name: string, first: Tensor, { dtype, shape }: Tensor): void {
  const hasSameRows =
    shape.length === first.shape.length && shape.every((size, axis) => axis === 0 || size === first.shape[axis]);
  if (dtype === first.dtype && hasSameRows) return;
  throw failedPrecondition(
    `Output "${name}" has rows that do not go together: ${first.dtype} [${first.shape}] in one part, ${dtype} [${shape}] in another.`,
  );
}
