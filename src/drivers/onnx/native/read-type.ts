import type { Pointer } from "../../../native/bind-functions.ts";
import { readText } from "../../../native/read-text.ts";
import { toDType, typeOf } from "../element-types.ts";
import type { OnnxType } from "../onnx-type.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check, takeInt, takePointer, takeSize } from "./status.ts";

/** ONNXType by its numbers. */
const KINDS = ["not a tensor", "tensor", "sequence", "map", "opaque value", "sparse tensor", "optional"] as const;

/** The type that an OrtTypeInfo describes. What is cast belongs to it, what is got does not. */
export function readType(context: NativeContext, info: Pointer): OnnxType {
  const { api } = context;
  const kind = KINDS[takeInt(api, (at) => api.GetOnnxTypeFromTypeInfo(info, at))] ?? "not a tensor";
  switch (kind) {
    case "tensor":
      return readTensorType(context, info);
    case "sequence": {
      const sequence = takePointer(api, (at) => api.CastTypeInfoToSequenceTypeInfo(info, at));
      return { kind, of: readPart(context, (at) => api.GetSequenceElementType(sequence, at)) };
    }
    case "optional": {
      const optional = takePointer(api, (at) => api.CastTypeInfoToOptionalTypeInfo(info, at));
      return { kind, of: readPart(context, (at) => api.GetOptionalContainedTypeInfo(optional, at)) };
    }
    case "map": {
      const map = takePointer(api, (at) => api.CastTypeInfoToMapTypeInfo(info, at));
      const keys = toDType(typeOf(takeInt(api, (at) => api.GetMapKeyType(map, at))));
      return { kind, keys, of: readPart(context, (at) => api.GetMapValueType(map, at)) };
    }
    default:
      return { kind };
  }
}

function readPart(context: NativeContext, get: (at: BigUint64Array) => Pointer | null): OnnxType {
  const info = takePointer(context.api, get);
  try {
    return readType(context, info);
  } finally {
    context.api.ReleaseTypeInfo(info);
  }
}

function readTensorType({ api }: NativeContext, type: Pointer): OnnxType {
  const info = takePointer(api, (at) => api.CastTypeInfoToTensorInfo(type, at));
  const element = typeOf(takeInt(api, (at) => api.GetTensorElementType(info, at)));
  const rank = takeSize(api, (at) => api.GetDimensionsCount(info, at));
  const sizes = new BigInt64Array(rank);
  const symbols = new BigUint64Array(rank);
  check(api, api.GetDimensions(info, sizes, rank));
  check(api, api.GetSymbolicDimensions(info, symbols, rank));
  const shape = Array.from(sizes, (size, axis) => (size >= 0n ? Number(size) : readText(symbols[axis]!)));
  return { kind: "tensor", element, dtype: toDType(element), shape };
}
