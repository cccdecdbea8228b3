import * as tf from "@tensorflow/tfjs-core";
import { elementCount } from "../../../tensor/tensor.ts";
import { asTensor, Strings, type Value } from "./values.ts";

/**
 * Runs an operation that only moves elements. Strings take part by their numbers: the operation moves those, and the
 * strings follow.
 */
export function moveElements<Result extends tf.Tensor | tf.Tensor[]>(
  inputs: readonly Value[],
  operation: (tensors: tf.Tensor[]) => Result,
): Result extends tf.Tensor ? Value : Value[] {
  type Moved = Result extends tf.Tensor ? Value : Value[];
  if (!(inputs[0] instanceof Strings)) return moveNumbers(inputs.map(asTensor), operation) as unknown as Moved;
  const strings = inputs as readonly Strings[];
  const elements = strings.flatMap((input) => input.elements);
  const moved = tf.tidy(() => operation(toNumbers(strings)));
  const take = (numbers: tf.Tensor) => {
    const taken = Array.from(numbers.dataSync(), (index) => elements[index]!);
    const result = new Strings(numbers.shape, taken);
    numbers.dispose();
    return result;
  };
  return (Array.isArray(moved) ? moved.map(take) : take(moved)) as Moved;
}

/** WebAssembly's kernels for booleans are few, and some write beyond them. */
function moveNumbers(inputs: tf.Tensor[], operation: (tensors: tf.Tensor[]) => tf.Tensor | tf.Tensor[]) {
  if (inputs[0]?.dtype !== "bool") return operation(inputs);
  return tf.tidy(() => {
    const moved = operation(inputs.map((input) => tf.cast(input, "int32")));
    return Array.isArray(moved) ? moved.map((tensor) => tf.cast(tensor, "bool")) : tf.cast(moved, "bool");
  });
}

function toNumbers(inputs: readonly Strings[]): tf.Tensor[] {
  let next = 0;
  return inputs.map(({ shape }) => {
    const first = next;
    next += elementCount(shape);
    const numbers = Int32Array.from({ length: next - first }, (_, index) => first + index);
    return tf.tensor(numbers, [...shape], "int32");
  });
}
