import { isUtf8 } from "node:buffer";
import { invalidArgument } from "../../errors.ts";
import type { DType } from "../../tensor/dtype.ts";
import { createRecord } from "../../tensor/record.ts";
import { byteSize, isTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/**
 * A value that ONNX Runtime takes or gives: a tensor, a sequence of values, a map, or
 * null for an optional without a value.
 */
export type OnnxValue = Tensor | readonly OnnxValue[] | OnnxMap | null;

/** A map's values by its keys, of which numbers are written as texts. */
export type OnnxMap = { readonly [key: string]: number | bigint | boolean | string };

/** Values by name. A null-prototype record: names such as `__proto__` are data. */
export type OnnxValues = Record<string, OnnxValue>;

/** A record of the entries. */
export function createOnnxValues(entries: Iterable<readonly [string, OnnxValue]>): OnnxValues {
  const values: OnnxValues = createRecord();
  for (const [name, value] of entries) values[name] = value;
  return values;
}

/** Checks that all values are tensors. */
export function areTensors(values: OnnxValues): values is Tensors {
  for (const name in values) if (!isTensor(values[name])) return false;
  return true;
}

/** Bytes of all tensors in a value. */
export function sizeOfValue(value: OnnxValue): number {
  if (isTensor(value)) return byteSize(value);
  return Array.isArray(value) ? value.reduce((sum, element) => sum + sizeOfValue(element), 0) : 0;
}

/** The type of an input or output. */
export type OnnxType =
  | TensorType
  | { readonly kind: "sequence" | "optional"; readonly of: OnnxType }
  | { readonly kind: "map"; readonly keys: DType | undefined; readonly of: OnnxType }
  | { readonly kind: "sparse tensor" | "opaque value" | "not a tensor" };

/** The type of a tensor. */
interface TensorType {
  readonly kind: "tensor";
  /** ONNX's name of the type of its elements. */
  readonly element: string;
  /** Undefined for elements that we do not carry. */
  readonly dtype: DType | undefined;
  /** Sizes, and names of symbolic dimensions; empty for a scalar, and if the rank is not known. */
  readonly shape: readonly (number | string)[];
}

/**
 * The tensor that requests carry for an input or output; undefined if they carry none. An optional input is given.
 */
export function carriedTensor(role: "Input" | "Output", type: OnnxType): TensorType | undefined {
  const given = role === "Input" && type.kind === "optional" ? type.of : type;
  return given.kind === "tensor" ? given : undefined;
}

/** The type in words, to follow "is": `a sequence of maps`. */
export function describeType(type: OnnxType): string {
  switch (type.kind) {
    case "tensor":
      return type.element;
    case "sequence":
    case "optional":
      return `${type.kind === "optional" ? "an" : "a"} ${type.kind} of ${inner(type.of)}`;
    case "opaque value":
      return "an opaque value";
    case "not a tensor":
      return type.kind;
    default:
      return `a ${type.kind}`;
  }
}

/** The first element type within a type that we do not carry. */
export function findUncarried(type: OnnxType): string | undefined {
  switch (type.kind) {
    case "tensor":
      return type.dtype === undefined ? type.element : undefined;
    case "sequence":
    case "optional":
      return findUncarried(type.of);
    case "map":
      return type.keys === undefined ? "a map with unusual keys" : findUncarried(type.of);
    default:
      return describeType(type);
  }
}

function inner(type: OnnxType): string {
  return type.kind === "tensor" ? `${type.element} tensors` : `${type.kind}s`;
}

/** Throws `invalid_argument`, with the input's name, for elements that are not text. */
export function assertTexts(name: string, elements: readonly Uint8Array[]): void {
  const wrong = elements.findIndex((element) => !isUtf8(element));
  if (wrong === -1) return;
  throw invalidArgument(`Input "${name}" is not valid UTF-8 in element ${wrong}; the model takes text.`);
}
