import type { Tensor as OrtTensor } from "onnxruntime-node";
import { invalidArgument } from "../../errors.ts";
import type { DType, NumericData } from "../../tensor/dtype.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import type { OnnxRuntime } from "./onnx-runtime.ts";

/** Our dtype for each type that ONNX Runtime's JavaScript API carries and we do. */
const DTYPES: Partial<Record<string, DType>> = {
  bool: "bool",
  uint8: "uint8",
  uint16: "uint16",
  uint32: "uint32",
  uint64: "uint64",
  int8: "int8",
  int16: "int16",
  int32: "int32",
  int64: "int64",
  float16: "float16",
  float32: "float32",
  float64: "float64",
  string: "bytes",
};

// A byte order mark is the client's text too.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Our dtype for ONNX Runtime's; undefined for one that we cannot carry. */
export function toDType(type: OrtTensor.Type): DType | undefined {
  return DTYPES[type];
}

/** A tensor of a dtype that a model takes, viewing the same numbers; throws `invalid_argument` naming the input for bytes that are not text. */
export function toOnnxTensor(runtime: OnnxRuntime, name: string, tensor: Tensor): OrtTensor {
  const dims = [...tensor.shape];
  if (tensor.dtype === "bytes") return new runtime.Tensor("string", toTexts(name, tensor.data), dims);
  return new runtime.Tensor(tensor.dtype as "float32", unshared(tensor.data) as Float32Array, dims);
}

/** A tensor of our own from one that a run gave; its numbers are not copied: ONNX Runtime makes new ones for each run. */
export function fromOnnxTensor(tensor: OrtTensor): Tensor {
  const { type, data, dims } = tensor;
  if (type === "string")
    return createTensor(
      "bytes",
      dims,
      (data as string[]).map((text) => encoder.encode(text)),
    );
  return createTensor(
    type as "float32",
    dims,
    (type === "float16" ? toBits(data as NumericData) : data) as Float32Array,
  );
}

/** The runtime refuses memory that threads share. */
function unshared(data: NumericData): NumericData {
  return data.buffer instanceof SharedArrayBuffer ? data.slice() : data;
}

/** From Node 24 on the runtime gives a Float16Array. */
function toBits(data: NumericData): Uint16Array {
  return new Uint16Array(data.buffer, data.byteOffset, data.length);
}

function toTexts(name: string, elements: readonly Uint8Array[]): string[] {
  return elements.map((element, index) => {
    const text = decodeText(name, element, index);
    if (!text.includes("\0")) return text;
    // The runtime's binding passes C strings, which would end there.
    throw invalidArgument(
      `Input "${name}" has a zero byte in element ${index}; ONNX Runtime's JavaScript API takes text only.`,
    );
  });
}

function decodeText(name: string, element: Uint8Array, index: number): string {
  try {
    return decoder.decode(element);
  } catch (cause) {
    const message = `Input "${name}" is not valid UTF-8 in element ${index}; the model takes text.`;
    throw invalidArgument(message, cause);
  }
}
