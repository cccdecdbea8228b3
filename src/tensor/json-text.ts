import { invalidArgument, ServingError } from "../errors.ts";
import { type Element, toNested } from "./elements.ts";
import { isPlainObject } from "./record.ts";
import { createTensor, isTensor, type Tensor } from "./tensor.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * JSON text of plain values and tensors: a tensor is nested arrays, 64-bit integers keep every digit, NaN and
 * infinities are null (JSON has no word for them), bytes are their text when they are UTF-8 and base64 else, what has a
 * `toJSON` is what that returns (a Date its ISO 8601 text). Throws `invalid_argument` for a tensor whose data does not
 * fill its shape, and, naming the place, for what JSON would leave nothing of: promises, functions, symbols, and
 * instances of classes without members, such as a Map; also for what contains itself. Throws `out_of_range` if the
 * text would be longer than a string can be.
 */
export function toJsonText(value: unknown): string {
  try {
    return textOf(value, []);
  } catch (reason) {
    if (isTooLong(reason)) throw tooLong(reason);
    if (!(reason instanceof RangeError)) throw reason;
    throw invalidArgument("The value contains itself, or is nested too deeply.", reason);
  }
}

/** Messages of V8 for joined strings, and of Node for bytes that become a string. */
function isTooLong(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  return reason.message === "Invalid string length" || (reason as NodeJS.ErrnoException).code === "ERR_STRING_TOO_LONG";
}

function tooLong(cause: unknown): ServingError {
  const message = "The values take more characters than JSON text may have; send and ask for them as tensors.";
  return new ServingError("out_of_range", message, { cause });
}

/** `place` is the way to the value, changed on the way down and back. */
function textOf(value: unknown, place: (string | number)[]): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function" || typeof value === "symbol") throw noJson(`a ${typeof value}`, place);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (isTensor(value)) return tensorText(value);
  if (isBuffer(value)) return JSON.stringify(bytesToText(value));
  if (isList(value)) return `[${Array.from(value, (each, index) => memberText(each, index, place)).join()}]`;
  const { toJSON, then } = value as { toJSON?: unknown; then?: unknown };
  if (typeof then === "function") throw noJson("a promise", place, " Was an await forgotten?");
  if (typeof toJSON === "function") return textOf(toJSON.call(value), place);
  return objectText(value, place);
}

function memberText(value: unknown, key: string | number, place: (string | number)[]): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null";
  place.push(key);
  const text = textOf(value, place);
  place.pop();
  return text;
}

function objectText(value: object, place: (string | number)[]): string {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.length === 0 && !isPlainObject(value))
    throw noJson(`a ${value.constructor?.name ?? "class instance"}`, place);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${memberText(member, name, place)}`).join()}}`;
}

function isList(value: object): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function noJson(what: string, place: readonly (string | number)[], hint = ""): ServingError {
  const where = place.map((key, level) => (typeof key === "number" ? `[${key}]` : `${level === 0 ? "" : "."}${key}`));
  return invalidArgument(
    `${where.join("") || "The value"} is ${what}, of which JSON would keep nothing; expected plain data, tensors or typed arrays.${hint}`,
  );
}

/** A hook may have given any shape: one that its data does not fill must not be written. */
function tensorText({ dtype, shape, data }: Tensor): string {
  return textOf(toNested(createTensor(dtype, shape, data), elementToJson), []);
}

/** UTF-8 text, or base64 of bytes that are none. */
function bytesToText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (reason) {
    if (isTooLong(reason)) throw reason;
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
}

function elementToJson(element: Element): unknown {
  return element instanceof Uint8Array ? bytesToText(element) : element;
}

/** Checks that a value is a Buffer of Node; nothing is one in a browser. */
export function isBuffer(value: unknown): value is Buffer {
  return typeof Buffer !== "undefined" && Buffer.isBuffer(value);
}
