import { invalidArgument } from "../../../errors.ts";
import { type DType, isDType, numericLayout } from "../../dtype.ts";
import { toBfloat16, toFloat16 } from "../../float16.ts";
import { isObject } from "../../record.ts";
import { createTensor, type Tensor } from "../../tensor.ts";

const encoder = new TextEncoder();

/** Begins and ends of texts, and numbers that JSON has no words for, or that JavaScript would round. */
const PARTS = /\\.|"|(?<![\w.+-])(?:-?\d{16,}(?![\d.eE])|-?Infinity|NaN)/g;
/** Something of which the latter have at least one. */
const LIKELY = /\d{16}|Infinity|NaN/;

/**
 * Parses JSON as `kserving infer` and Python write it: NaN and infinities are words,
 * and large integers stay exact; both become strings. Texts stay as they are, also one
 * that is JSON itself. Throws `invalid_argument` for a text that is no JSON.
 */
export function parseExactJson(text: string): unknown {
  if (!LIKELY.test(text)) return parse(text);
  let isInText = false;
  const exact = text.replace(PARTS, (found) => {
    if (found === '"') isInText = !isInText;
    return isInText || found === '"' || found.startsWith("\\") ? found : `"${found}"`;
  });
  return parse(exact);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidArgument(`The text is no JSON: ${(cause as Error).message}`, cause);
  }
}

/** The tensor of a list of values, nested or flat; throws `invalid_argument` for anything else. */
export function tensorFromJson(name: string, { dtype, shape, data }: Record<string, unknown>): Tensor {
  if (typeof dtype !== "string" || !isDType(dtype) || !Array.isArray(shape))
    throw invalidArgument(`The output "${name}" has no dtype and shape; expected what kserving infer --json prints.`);
  const values = (Array.isArray(data) ? data.flat(Number.POSITIVE_INFINITY) : [data]) as unknown[];
  return createTensor(dtype, shape.map(Number), toData(dtype, values) as never);
}

function toData(dtype: DType, values: readonly unknown[]) {
  if (dtype === "bytes") return values.map(toBytes);
  const { array } = numericLayout(dtype);
  if (dtype === "float16") return Uint16Array.from(values, (value) => toFloat16(Number(value)));
  if (dtype === "bfloat16") return Uint16Array.from(values, (value) => toBfloat16(Number(value)));
  const isBig = dtype === "int64" || dtype === "uint64";
  if (isBig) return Reflect.construct(array, [values.map((value) => BigInt(value as string))]);
  return Reflect.construct(array, [values.map(Number)]);
}

/** Bytes that are not text are `{"b64": …}`, as KServe V2's answers here and TensorFlow Serving have them. */
function toBytes(value: unknown): Uint8Array {
  if (!isObject(value) || typeof value.b64 !== "string") return encoder.encode(String(value));
  return Uint8Array.from(atob(value.b64), (character) => character.charCodeAt(0));
}
