import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import { type DType, numericLayout } from "../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../tensor/float16.ts";
import type { Element, FormTensor } from "./form-tensor.ts";

/** Above so many elements the binary form is shorter, and quicker to write and to read. */
const MAX_JSON_ELEMENTS = 256;

/** A request of KServe V2 with the inputs; large ones and files as bytes after the JSON. Outputs come as bytes. */
export function inferRequest(inputs: readonly FormTensor[]): RequestInit {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const described = inputs.map(({ name, datatype, shape, values }) => {
    const head = { name, datatype, shape };
    const isPlain = values.length <= MAX_JSON_ELEMENTS && values.every((value) => isExact(value));
    if (isPlain) return { ...head, data: values };
    const part = toBinary(datatype, values);
    parts.push(part);
    return { ...head, parameters: { binary_data_size: part.length } };
  });
  const body = { inputs: described, parameters: { binary_data_output: true } };
  const head = new TextEncoder().encode(JSON.stringify(body));
  const headers = {
    "content-type": "application/octet-stream",
    "inference-header-content-length": String(head.length),
  };
  return { method: "POST", headers, body: new Blob([head, ...parts]) };
}

/** JSON has no bytes, no BigInt, and no infinity. */
function isExact(value: FormTensor["values"][number]): boolean {
  return (
    typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
  );
}

interface WireOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: readonly Element[];
  readonly parameters?: { readonly binary_data_size?: number };
}

/** The outputs of an answer of KServe V2; `jsonBytes` = length of its JSON, null = all of it. */
export function readOutputs(body: ArrayBuffer, jsonBytes: string | null): readonly FormTensor[] {
  const bytes = new Uint8Array(body);
  const end = jsonBytes === null ? bytes.length : Number(jsonBytes);
  const { outputs = [] } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as { outputs?: WireOutput[] };
  let at = end;
  return outputs.map(({ name, datatype, shape, data = [], parameters }) => {
    const size = parameters?.binary_data_size;
    if (size === undefined) return { name, datatype, shape, values: data };
    const values = fromBinary(datatype, bytes.subarray(at, at + size));
    at += size;
    return { name, datatype, shape, values };
  });
}

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
