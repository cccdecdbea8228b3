import { failedPrecondition, invalidArgument } from "../../errors.ts";
import { concatRows, rowCount } from "../../tensor/rows.ts";
import { createTensors, type Tensors } from "../../tensor/tensor.ts";

/** The rows that all inputs have; throws `invalid_argument`, in TensorFlow Serving's words first, where they differ. */
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

/**
 * The rows of several requests, or of the parts of one, behind each other; throws `failed_precondition` where they
 * differ in more than their number. `what`: `Input` or `Output`, for the error.
 */
export function joinTensors(all: readonly Tensors[], what: string): Tensors {
  const [first = {}] = all;
  const parts = (name: string) => all.map((tensors) => tensors[name]!);
  return createTensors(Object.keys(first).map((name) => [name, concatRows(parts(name), `${what} "${name}"`)]));
}
