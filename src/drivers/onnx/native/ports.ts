import type { Pointer } from "../../../native/bind-functions.ts";
import { readText } from "../../../native/read-text.ts";
import type { OnnxPort } from "../engine.ts";
import type { NativeContext } from "./open-onnx.ts";
import { readType } from "./read-type.ts";
import { check, takePointer, takeSize } from "./status.ts";

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
