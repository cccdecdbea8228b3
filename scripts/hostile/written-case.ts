import { type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import type { Tensor, Tensors } from "../../src/tensor/tensor.ts";
import { toBytes } from "../../src/tensor/tensor.ts";

/** Tensors as programs of other languages read them: numbers in base64, texts as a list of base64. */
export type WrittenTensors = Readonly<Record<string, WrittenTensor>>;

interface WrittenTensor {
  readonly dtype: Tensor["dtype"];
  readonly shape: readonly number[];
  /** Null for one that is too large. */
  readonly data: string | readonly string[] | null;
}

/** A graph's file, what is asked of it, and inputs. */
export interface WrittenCase {
  readonly op: string;
  readonly what: string;
  readonly graph: string;
  readonly outputs: readonly string[];
  readonly inputs: WrittenTensors;
  readonly good: WrittenTensors;
}

const MAX_BYTES = 2 ** 16;

export function writeTensors(tensors: Tensors): WrittenTensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, write(tensor as Tensor)]));
}

function write({ dtype, shape, data }: Tensor): WrittenTensor {
  if (dtype === "bytes") return { dtype, shape, data: data.map((text) => Buffer.from(text).toString("base64")) };
  const bytes = toBytes(data);
  return { dtype, shape, data: bytes.length > MAX_BYTES ? null : Buffer.from(bytes).toString("base64") };
}

export function readTensors(written: WrittenTensors): Tensors {
  return Object.fromEntries(Object.entries(written).map(([name, tensor]) => [name, read(tensor)]));
}

function read({ dtype, shape, data }: WrittenTensor): Tensor {
  if (dtype === "bytes") {
    return { dtype, shape, data: (data as readonly string[]).map((text) => Buffer.from(text, "base64")) };
  }
  const bytes = Uint8Array.from(Buffer.from((data ?? "") as string, "base64"));
  return { dtype, shape, data: new (numericLayout(dtype as NumericDType).array)(bytes.buffer) } as Tensor;
}
