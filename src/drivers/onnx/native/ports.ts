import type { Pointer } from "../../../platform/native/bind-functions.ts";
import { copyFromNative, readText } from "../../../platform/native/memory.ts";
import { toDType, typeOf } from "../element-types.ts";
import type { OnnxPort } from "../engine.ts";
import type { OnnxType } from "../onnx-value.ts";
import { check, type NativeContext, takeInt, takePointer, takeSize } from "./open-onnx.ts";

/** The inputs of an OrtSession that have no values in the model. */
export function readInputs(context: NativeContext, session: Pointer): OnnxPort[] {
  const { api, allocator } = context;
  const count = takeSize(api, (at) => api.SessionGetInputCount(session, at));
  return Array.from({ length: count }, (_, index) => {
    const name = takePointer(api, (at) => api.SessionGetInputName(session, index, allocator, at));
    const type = takePointer(api, (at) => api.SessionGetInputTypeInfo(session, index, at));
    return readPort(context, name, type);
  });
}

/** The inputs of an OrtSession that have values in the model, which runs may replace. */
export function readOverridable(context: NativeContext, session: Pointer): OnnxPort[] {
  const { api, allocator } = context;
  const count = takeSize(api, (at) => api.SessionGetOverridableInitializerCount(session, at));
  return Array.from({ length: count }, (_, index) => {
    const name = takePointer(api, (at) => api.SessionGetOverridableInitializerName(session, index, allocator, at));
    const type = takePointer(api, (at) => api.SessionGetOverridableInitializerTypeInfo(session, index, at));
    return readPort(context, name, type);
  });
}

/** The outputs of an OrtSession. */
export function readOutputs(context: NativeContext, session: Pointer): OnnxPort[] {
  const { api, allocator } = context;
  const count = takeSize(api, (at) => api.SessionGetOutputCount(session, at));
  return Array.from({ length: count }, (_, index) => {
    const name = takePointer(api, (at) => api.SessionGetOutputName(session, index, allocator, at));
    const type = takePointer(api, (at) => api.SessionGetOutputTypeInfo(session, index, at));
    return readPort(context, name, type);
  });
}

/** Releases both. */
function readPort(context: NativeContext, name: Pointer, type: Pointer): OnnxPort {
  const { api, allocator } = context;
  const port = { name: readText(name), type: readType(context, type) };
  check(api, api.AllocatorFree(allocator, name));
  api.ReleaseTypeInfo(type);
  return port;
}

/** ONNXType by its numbers. */
const KINDS = ["not a tensor", "tensor", "sequence", "map", "opaque value", "sparse tensor", "optional"] as const;

/** The type that an OrtTypeInfo describes. The result of a cast belongs to it, that of a get does not. */
function readType(context: NativeContext, info: Pointer): OnnxType {
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

/** The exporter's notes in a model, ONNX Runtime's custom metadata map, by key. */
export function readMetadata(context: NativeContext, session: Pointer): Record<string, string> {
  const { api } = context;
  const metadata = takePointer(api, (at) => api.SessionGetModelMetadata(session, at));
  try {
    const notes = readKeys(context, metadata).map((key) => [key, readNote(context, metadata, key)]);
    return Object.fromEntries(notes);
  } finally {
    api.ReleaseModelMetadata(metadata);
  }
}

function readKeys({ api, allocator }: NativeContext, metadata: Pointer): string[] {
  const list = new BigUint64Array(1);
  const count = new BigInt64Array(1);
  check(api, api.ModelMetadataGetCustomMetadataMapKeys(metadata, allocator, list, count));
  if (count[0] === 0n) return [];
  const addresses = copyFromNative(new BigUint64Array(Number(count[0])), list[0]!);
  const keys = Array.from(addresses, readText);
  for (const address of [...addresses, list[0]!]) check(api, api.AllocatorFree(allocator, address));
  return keys;
}

function readNote({ api, allocator }: NativeContext, metadata: Pointer, key: string): string {
  const text = takePointer(api, (at) => api.ModelMetadataLookupCustomMetadataMap(metadata, allocator, key, at));
  const note = readText(text);
  check(api, api.AllocatorFree(allocator, text));
  return note;
}
