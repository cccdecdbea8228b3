import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import { type DType, numericLayout } from "../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../tensor/float16.ts";
import type { Element } from "./form-tensor.ts";

/** Elements that are not carried as they are: their form in the array, and back. */
const CARRIED: Partial<Record<DType, readonly [to: (value: never) => number, from: (carried: number) => Element]>> = {
  bool: [Number, Boolean],
  float16: [toFloat16, fromFloat16],
  bfloat16: [toBfloat16, fromBfloat16],
};

/**
 * The binary form of a tensor's elements; of BYTES each after four bytes of length. Throws for a datatype without one.
 */
export function toBinary(datatype: string, values: readonly Element[]): Uint8Array<ArrayBuffer> {
  const dtype = dtypeOf(datatype);
  if (dtype === "bytes") return joinTexts(values.map(toBytes));
  const data = new (numericLayout(dtype).array)(values.length);
  const [to = same] = CARRIED[dtype] ?? [];
  for (const [index, value] of values.entries()) data[index] = to(value as never);
  return new Uint8Array(data.buffer as ArrayBuffer);
}

/** The elements of {@link toBinary}. */
export function fromBinary(datatype: string, bytes: Uint8Array): Element[] {
  const dtype = dtypeOf(datatype);
  if (dtype === "bytes") return splitTexts(bytes);
  const data = new (numericLayout(dtype).array)(bytes.slice().buffer);
  const [, from = same] = CARRIED[dtype] ?? [];
  return Array.from(data as ArrayLike<number>, from);
}

function same<Value>(value: Value): Value {
  return value;
}

function dtypeOf(datatype: string): DType {
  const found = datatypeNamed(datatype);
  if (found === undefined) throw new Error(`The page has no form for ${datatype}.`);
  return found.dtype;
}

function toBytes(value: Element): Uint8Array {
  return value instanceof Uint8Array ? value : new TextEncoder().encode(String(value));
}

function joinTexts(texts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(texts.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(joined.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.length, true);
    joined.set(text, at + 4);
    at += 4 + text.length;
  }
  return joined;
}

function splitTexts(data: Uint8Array): Uint8Array[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const texts: Uint8Array[] = [];
  for (let at = 0; at + 4 <= data.length; ) {
    const length = view.getUint32(at, true);
    texts.push(data.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return texts;
}
