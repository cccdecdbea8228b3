import { failedPrecondition, invalidArgument } from "../../../errors.ts";
import type { Pointer } from "../../../native/bind-functions.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import { fromMapTensors, toMapTensors } from "../map-tensors.ts";
import type { OnnxType } from "../onnx-type.ts";
import type { OnnxMap, OnnxValue } from "../onnx-value.ts";
import { createEmptySequence } from "./empty-sequence.ts";
import { fromNativeTensor, toNativeTensor } from "./native-tensor.ts";
import type { NativeContext } from "./open-onnx.ts";
import { takeInt, takePointer, takeSize } from "./status.ts";

/** ONNXType. */
const KIND = { tensor: 1, sequence: 2, map: 3 } as const;

/** A value with its type, which it is known to have, and its name for messages. */
interface TypedValue {
  readonly name: string;
  readonly value: OnnxValue;
  readonly type: OnnxType;
}

/**
 * An OrtValue. The memory of tensors has to stay where it is for as long. Throws
 * `invalid_argument` for what the C API has no way to pass.
 */
export function toNativeValue(context: NativeContext, { name, value, type }: TypedValue): Pointer {
  if (type.kind === "optional" && value !== null) return toNativeValue(context, { name, value, type: type.of });
  if (type.kind === "sequence") {
    const elements = value as readonly OnnxValue[];
    if (elements.length === 0) return emptySequence(context, name, type.of);
    const parts = elements.map((element) => () => toNativeValue(context, { name, value: element, type: type.of }));
    return compose(context, KIND.sequence, parts);
  }
  if (type.kind === "map") {
    const tensors = toMapTensors(value as OnnxMap, type, name);
    const parts = tensors.map((tensor) => () => toNativeTensor(context, name, tensor));
    return compose(context, KIND.map, parts);
  }
  if (value === null) throw cannotPass(name, "an optional without a value");
  return toNativeTensor(context, name, value as Tensor);
}

function emptySequence(context: NativeContext, name: string, of: OnnxType): Pointer {
  if (of.kind !== "tensor" || of.dtype === undefined) throw cannotPass(name, `an empty sequence of ${of.kind}s`);
  return createEmptySequence(context, of.dtype);
}

/** A copy of an OrtValue; throws `failed_precondition` for what we do not carry. */
export function fromNativeValue(context: NativeContext, name: string, pointer: Pointer): OnnxValue {
  const { api } = context;
  if (takeInt(api, (at) => api.HasValue(pointer, at)) === 0) return null;
  const kind = takeInt(api, (at) => api.GetValueType(pointer, at));
  if (kind === KIND.tensor) return fromNativeTensor(context, name, pointer);
  if (kind === KIND.sequence) {
    const count = takeSize(api, (at) => api.GetValueCount(pointer, at));
    return Array.from({ length: count }, (_, index) => takePart(context, name, { pointer, index }));
  }
  if (kind !== KIND.map) throw failedPrecondition(`Output "${name}" has a value that cannot be carried.`);
  const [keys, values] = [0, 1].map((index) => takePart(context, name, { pointer, index }));
  return fromMapTensors(keys as Tensor, values as Tensor);
}

/** Makes a value of parts, which it keeps itself. */
function compose({ api }: NativeContext, kind: number, parts: readonly (() => Pointer)[]): Pointer {
  const made: Pointer[] = [];
  try {
    for (const make of parts) made.push(make());
    const addresses = BigUint64Array.from(made);
    return takePointer(api, (at) => api.CreateValue(addresses, addresses.length, kind, at));
  } finally {
    for (const part of made) api.ReleaseValue(part);
  }
}

interface Part {
  readonly pointer: Pointer;
  readonly index: number;
}

function takePart(context: NativeContext, name: string, { pointer, index }: Part): OnnxValue {
  const { api, allocator } = context;
  const part = takePointer(api, (at) => api.GetValue(pointer, index, allocator, at));
  try {
    return fromNativeValue(context, name, part);
  } finally {
    api.ReleaseValue(part);
  }
}

function cannotPass(name: string, what: string) {
  return invalidArgument(`Input "${name}" is ${what}, which ONNX Runtime's C API has no way to pass.`);
}
