import type { DType } from "../../tensor/dtype.ts";

/** The type of an input or output. */
export type OnnxType =
  | TensorType
  | { readonly kind: "sequence" | "optional"; readonly of: OnnxType }
  | { readonly kind: "map"; readonly keys: DType | undefined; readonly of: OnnxType }
  | { readonly kind: "sparse tensor" | "opaque value" | "not a tensor" };

/** The type of a tensor. */
export interface TensorType {
  readonly kind: "tensor";
  /** ONNX's name of the type of its elements. */
  readonly element: string;
  /** Undefined for elements that we do not carry. */
  readonly dtype: DType | undefined;
  /** Sizes, and names of symbolic dimensions; empty for a scalar, and where the rank is not known. */
  readonly shape: readonly (number | string)[];
}

/**
 * The tensor that requests carry for an input or output; undefined where they carry none. An optional input is given.
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
