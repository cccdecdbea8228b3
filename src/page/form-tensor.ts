import { joinBody } from "../client/http/infer-body.ts";
import { splitBody } from "../client/http/read-answer.ts";
import { DecodeBudget } from "../platform/limits/memory/decode-budget.ts";
import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import { fromRaw, type InputHead, toRaw } from "../protocols/kserve/raw-tensor.ts";
import { type DType, numericLayout } from "../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../tensor/float16.ts";
import { createTensor } from "../tensor/tensor.ts";

/** One element of a tensor: text and bytes of BYTES, numbers, and whole numbers of 64 bits as BigInt. */
export type Element = number | bigint | boolean | string | Uint8Array;

/** One input as it is sent, or one output. */
export interface FormTensor {
  readonly name: string;
  /** KServe V2's. */
  readonly datatype: string;
  readonly shape: readonly number[];
  /** In row-major order. */
  readonly values: readonly Element[];
  /** The file that its only element comes from, for programs that send the same. */
  readonly file?: string | undefined;
}

/** The number of elements of a shape. */
export function countOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The least and the greatest of the values that are finite, and of the two given ones. */
export function rangeOf(
  values: readonly number[],
  low = Number.POSITIVE_INFINITY,
  high = Number.NEGATIVE_INFINITY,
): readonly [low: number, high: number] {
  for (const value of values) {
    if (!Number.isFinite(Number(value))) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** Characters of a text that are shown. */
const MAX_TEXT = 300;

/** An element for people: a number with six digits, UTF-8 as text, other bytes by their number. */
export function elementText(value: Element): string {
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (!(value instanceof Uint8Array)) return cut(String(value));
  try {
    return cut(new TextDecoder("utf-8", { fatal: true }).decode(value));
  } catch {
    return `${value.length} bytes`;
  }
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** Above so many elements the binary form is shorter, and quicker to write and to read. */
const MAX_JSON_ELEMENTS = 256;

/** A request of KServe V2 with the inputs; large ones and files as bytes after the JSON. Outputs come as bytes. */
export function inferRequest(inputs: readonly FormTensor[]): RequestInit {
  const parts: Uint8Array[] = [];
  const described = inputs.map(({ name, datatype, shape, values }) => {
    const head = { name, datatype, shape };
    const isPlain = values.length <= MAX_JSON_ELEMENTS && values.every((value) => isExact(value));
    if (isPlain) return { ...head, data: values };
    const part = toBinary(datatype, values);
    parts.push(part);
    return { ...head, parameters: { binary_data_size: part.length } };
  });
  const json = JSON.stringify({ inputs: described, parameters: { binary_data_output: true } });
  return { method: "POST", ...joinBody(json, parts) };
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
  const { json, take } = splitBody(new Uint8Array(body), jsonBytes);
  const { outputs = [] } = JSON.parse(json) as { outputs?: WireOutput[] };
  return outputs.map(({ data = [], parameters, ...head }) => {
    const { name, datatype, shape } = head;
    const size = parameters?.binary_data_size;
    return { name, datatype, shape, values: size === undefined ? data : fromBinary(head, take(size)) };
  });
}

/** Elements that are not carried as they are: their form in the array, and back. */
const CARRIED: Partial<Record<DType, readonly [to: (value: never) => number, from: (carried: number) => Element]>> = {
  bool: [Number, Boolean],
  float16: [toFloat16, fromFloat16],
  bfloat16: [toBfloat16, fromBfloat16],
};

/** The binary form of a tensor's elements. Throws for a datatype without one. */
export function toBinary(datatype: string, values: readonly Element[]): Uint8Array {
  const dtype = dtypeOf(datatype);
  const shape = [values.length];
  if (dtype === "bytes") return toRaw(createTensor(dtype, shape, values.map(toBytes)));
  const data = new (numericLayout(dtype).array)(values.length);
  const [to = same] = CARRIED[dtype] ?? [];
  for (const [index, value] of values.entries()) data[index] = to(value as never);
  return new Uint8Array(data.buffer);
}

/** The elements of {@link toBinary}. Throws if there are others than the shape has. */
export function fromBinary(head: InputHead, bytes: Uint8Array): readonly Element[] {
  const { dtype, data } = fromRaw(head, bytes, { model: "", budget: new DecodeBudget(Number.POSITIVE_INFINITY) });
  const [, from = same] = CARRIED[dtype] ?? [];
  return dtype === "bytes" ? [...data] : Array.from(data as ArrayLike<number>, from);
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
