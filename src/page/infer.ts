import { joinBody } from "../client/http/infer-body.ts";
import { splitBody } from "../client/http/read-answer.ts";
import { DecodeBudget } from "../platform/limits/memory/decode-budget.ts";
import { datatypeNamed } from "../protocols/kserve/datatype.ts";
import { fromRaw, type InputHead, toRaw } from "../protocols/kserve/raw-tensor.ts";
import { type DType, numericLayout } from "../tensor/dtype.ts";
import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../tensor/float16.ts";
import { createTensor } from "../tensor/tensor.ts";
import type { Element, FormTensor } from "./form-tensor.ts";

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

/** The elements of {@link toBinary}. Throws where there are others than the shape has. */
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
