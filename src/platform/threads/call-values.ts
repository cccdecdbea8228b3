import { invalidArgument, type ServingError } from "../../errors.ts";
import { toTensor } from "../../tensor/plain-value.ts";
import { isPlainObject } from "../../tensor/record.ts";
import { createTensors, isTensor, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/**
 * Arguments or results of a handle's method as a record carries them: JSON, and the tensors and arrays apart from it.
 */
export interface PackedValues {
  readonly json: unknown;
  readonly tensors: Tensors;
}

/** Marker in JSON for a value that JSON cannot express. */
type Marker =
  | { readonly $tensor: number }
  | { readonly $data: number }
  | { readonly $bigint: string }
  | { readonly $number: string }
  | { readonly $undefined: true };

/**
 * Takes tensors, typed arrays and Buffers out of nested plain values; throws `invalid_argument` for values that cannot
 * cross threads: functions and class instances.
 */
export function packValues(value: unknown): PackedValues {
  const tensors = createTensors();
  let count = 0;
  const keep = (tensor: Tensor) => {
    tensors[count] = tensor;
    return count++;
  };
  const pack = (each: unknown): unknown => {
    if (isTensor(each)) return { $tensor: keep(each) } satisfies Marker;
    if (ArrayBuffer.isView(each)) return { $data: keep(toTensor(each, "value")) } satisfies Marker;
    if (typeof each === "bigint") return { $bigint: String(each) } satisfies Marker;
    if (each === undefined) return { $undefined: true } satisfies Marker;
    if (typeof each === "number" && !isJsonNumber(each)) return { $number: numberText(each) } satisfies Marker;
    if (typeof each === "function" || typeof each === "symbol") throw cannotCross(`a ${typeof each}`);
    if (Array.isArray(each)) return Array.from(each, pack);
    if (typeof each !== "object" || each === null) return each;
    if (!isPlainObject(each)) throw cannotCross(`a ${each.constructor?.name ?? "class instance"}`);
    return Object.fromEntries(Object.entries(each).map(([name, member]) => [escapeKey(name), pack(member)]));
  };
  return { json: pack(value), tensors };
}

/** Digits of an integer: reading them takes a time that grows with the square of their number. */
const MAX_DIGITS = 1000;

function toBigInt(digits: string): bigint {
  if (digits.length <= MAX_DIGITS) return BigInt(digits);
  throw invalidArgument(`An integer has ${digits.length} digits; expected ${MAX_DIGITS} at most.`);
}

/** The values that were packed. */
export function unpackValues({ json, tensors }: PackedValues): unknown {
  const unpack = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(unpack);
    if (typeof each !== "object" || each === null) return each;
    const marker = each as { [Key in "$tensor" | "$data"]?: number } & TextMarker & { $undefined?: true };
    if (marker.$tensor !== undefined) return tensors[marker.$tensor];
    if (marker.$data !== undefined) return dataOf(tensors[marker.$data]!);
    if (marker.$bigint !== undefined) return toBigInt(marker.$bigint);
    if (marker.$number !== undefined) return Number(marker.$number);
    if (marker.$undefined) return undefined;
    return Object.fromEntries(Object.entries(each).map(([name, member]) => [unescapeKey(name), unpack(member)]));
  };
  return unpack(json);
}

type TextMarker = { readonly [Key in "$bigint" | "$number"]?: string };

/** JSON has no words for other numbers, and forgets the sign of a zero. */
export function isJsonNumber(value: number): boolean {
  return Number.isFinite(value) && !Object.is(value, -0);
}

/** The text of a number that JSON does not have. */
export function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/** A marker's key begins with one `$`: a key of the caller's that begins with `$` gets another one. */
export function escapeKey(name: string): string {
  return name.startsWith("$") ? `$${name}` : name;
}

/** The key before {@link escapeKey}. */
export function unescapeKey(name: string): string {
  return name.startsWith("$") ? name.slice(1) : name;
}

function cannotCross(what: string): ServingError {
  const expected = "tensors, typed arrays, Buffers and plain data";
  return invalidArgument(`${what} cannot be passed between a hook and a model; expected ${expected}.`);
}

/** A Buffer is sent as one `bytes` element. */
function dataOf(tensor: Tensor): unknown {
  if (tensor.dtype !== "bytes") return tensor.data;
  const [{ buffer, byteOffset, byteLength }] = tensor.data as readonly [Uint8Array];
  return Buffer.from(buffer, byteOffset, byteLength);
}
