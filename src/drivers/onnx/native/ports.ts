import type { Pointer } from "../../../native/bind-functions.ts";
import { readText } from "../../../native/read-text.ts";
import { toDType, typeOf } from "../element-types.ts";
import type { OnnxPort } from "../engine.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check, takeInt, takePointer, takeSize } from "./status.ts";

/** ONNXType of a tensor. */
const TENSOR = 1;

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
  const port = { name: readText(name), ...readType(context, type) };
  check(api, api.AllocatorFree(allocator, name));
  api.ReleaseTypeInfo(type);
  return port;
}

function readType({ api }: NativeContext, type: Pointer): Omit<OnnxPort, "name"> {
  const kind = takeInt(api, (at) => api.GetOnnxTypeFromTypeInfo(type, at));
  if (kind !== TENSOR) return { type: "not a tensor", dtype: undefined, shape: [] };
  // It belongs to the type.
  const info = takePointer(api, (at) => api.CastTypeInfoToTensorInfo(type, at));
  const element = typeOf(takeInt(api, (at) => api.GetTensorElementType(info, at)));
  const rank = takeSize(api, (at) => api.GetDimensionsCount(info, at));
  const sizes = new BigInt64Array(rank);
  const symbols = new BigUint64Array(rank);
  check(api, api.GetDimensions(info, sizes, rank));
  check(api, api.GetSymbolicDimensions(info, symbols, rank));
  const shape = Array.from(sizes, (size, axis) => (size >= 0n ? Number(size) : readText(symbols[axis]!)));
  return { type: element, dtype: toDType(element), shape };
}
