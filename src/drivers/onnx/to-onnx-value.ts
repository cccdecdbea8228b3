import { invalidArgument, type ServingError } from "../../errors.ts";
import { isPlainObject } from "../../tensor/is-plain-object.ts";
import { type PlainValue, toTensor } from "../../tensor/plain-value.ts";
import { isTensor, type Tensor } from "../../tensor/tensor.ts";
import { describeType, type OnnxType } from "./onnx-type.ts";
import type { OnnxMap, OnnxValue } from "./onnx-value.ts";

/**
 * A hook's value for an input: an array for a sequence, an object for a map, null for
 * an optional without a value, else as for a tensor.
 */
export type FeedValue = Tensor | PlainValue | readonly FeedValue[] | OnnxMap | null;

/** Turns a hook's value into one of a type; throws `invalid_argument` naming the input. */
export function toOnnxValue(value: FeedValue, name: string, type: OnnxType): OnnxValue {
  switch (type.kind) {
    case "optional":
      return value === null || value === undefined ? null : toOnnxValue(value, name, type.of);
    case "sequence":
      if (!Array.isArray(value)) throw mismatch(name, "not an array", type);
      return value.map((element: FeedValue, index) => toOnnxValue(element, `${name}[${index}]`, type.of));
    case "map":
      if (isTensor(value) || !isPlainObject(value)) throw mismatch(name, "not a plain object", type);
      return value as OnnxMap;
    case "tensor": {
      const tensor = toTensor(value as PlainValue, name, type.dtype);
      if (tensor.dtype === type.dtype) return tensor;
      throw mismatch(name, tensor.dtype, type);
    }
    default:
      throw mismatch(name, "given", type);
  }
}

function mismatch(name: string, what: string, type: OnnxType): ServingError {
  const expected = type.kind === "tensor" ? (type.dtype ?? type.element) : describeType(type);
  return invalidArgument(`Input "${name}" is ${what}; the model takes ${expected}.`);
}
