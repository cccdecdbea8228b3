import type { Tensor as OrtTensor } from "onnxruntime-node";
import { invalidArgument } from "../../../errors.ts";
import type { NumericData } from "../../../tensor/dtype.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import { assertTexts } from "../assert-text.ts";
import type { OnnxRuntime } from "../onnx-runtime.ts";

// A byte order mark is the client's text too.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * A tensor of a dtype that a model takes, viewing the same numbers; throws
 * `invalid_argument` naming the input for bytes that are not text.
 */
export function toOnnxTensor(runtime: OnnxRuntime, name: string, tensor: Tensor): OrtTensor {
  const dims = [...tensor.shape];
  if (tensor.dtype === "bytes") return new runtime.Tensor("string", toTexts(name, tensor.data), dims);
  return new runtime.Tensor(tensor.dtype as "float32", unshared(tensor.data) as Float32Array, dims);
}

/**
 * A tensor of our own from one that a run gave; its numbers are not copied: ONNX Runtime makes new ones for each run.
 */
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
  assertTexts(name, elements);
  const cut = elements.findIndex((element) => element.includes(0));
  if (cut !== -1) throw endsAtZero(name, cut);
  return elements.map((element) => decoder.decode(element));
}

function endsAtZero(name: string, element: number) {
  return invalidArgument(
    `Input "${name}" has a zero byte in element ${element}, at which ONNX Runtime's JavaScript API ends a text; give it to a server with -o engine=native.`,
  );
}
