import { invalidArgument, ServingError } from "../errors.ts";
import { type Element, toNested } from "./elements.ts";
import { copyTensor } from "./packed-tensor.ts";
import { markPlainData } from "./plain-list.ts";
import { isPlainObject } from "./record.ts";
import { createTensor, elementCount, isTensor, type Tensor } from "./tensor.ts";

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
    throw toRefusal(reason);
  }
}

/**
 * {@link toJsonText} in pieces that take some milliseconds each, so that others can have their turns between them, and
 * so that no string has to hold all of it. What has a `toJSON`, and a buffer, are a piece each.
 */
export function* jsonPieces(value: unknown): Generator<string> {
  try {
    yield* piecesOf(value, []);
  } catch (reason) {
    throw toRefusal(reason);
  }
}

/** Checks that a value has enough elements, members and characters for more than one of its {@link jsonPieces}. */
export function isCutJson(value: unknown): boolean {
  try {
    return extentOf(value, 0) >= PIECE_EXTENT;
  } catch (reason) {
    throw toRefusal(reason);
  }
}

/** A copy of plain values and tensors with the same JSON text, which stays when they change. */
export function copyForJson(value: unknown): unknown {
  try {
    return copyOf(value);
  } catch (reason) {
    throw toRefusal(reason);
  }
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  // What was given away has no elements, and is refused as it is.
  if (isTensor(value)) return value.data.length === 0 ? value : copyTensor(value);
  if (isBuffer(value)) return Buffer.from(value);
  if (Array.isArray(value)) return copyList(value);
  if (isList(value)) return value.length === 0 ? value : (value as Float64Array).slice();
  const { toJSON, then } = value as { toJSON?: unknown; then?: unknown };
  if (typeof then === "function") return value;
  if (typeof toJSON === "function") return copyOf(toJSON.call(value));
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.length === 0) return value;
  const copy = Object.fromEntries(members.map(([name, member]) => [name, copyOf(member)]));
  // What was no tensor is none now.
  markPlainData(copy);
  return copy;
}

/** V8 copies a list of numbers as memory. */
function copyList(list: readonly unknown[]): unknown[] {
  const copy = list.slice();
  for (let index = 0; index < copy.length; index++) {
    const element = copy[index];
    if (typeof element === "object" && element !== null) copy[index] = copyOf(element);
  }
  return copy;
}

function toRefusal(reason: unknown): unknown {
  if (isTooLong(reason)) return tooLong(reason);
  if (!(reason instanceof RangeError)) return reason;
  return invalidArgument("The value contains itself, or is nested too deeply.", reason);
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
  if (isList(value)) return `[${elementsText(value, { from: 0, to: value.length }, place)}]`;
  const { toJSON, then } = value as { toJSON?: unknown; then?: unknown };
  if (typeof then === "function") throw noJson("a promise", place, " Was an await forgotten?");
  if (typeof toJSON === "function") return textOf(toJSON.call(value), place);
  return objectText(value, place);
}

/** Elements of a list. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Elements without the brackets around them. V8 writes a list of numbers in half the time of its texts' joining. */
function elementsText(list: ArrayLike<unknown>, { from, to }: Range, place: (string | number)[]): string {
  // The memory of a typed array may have been given away.
  if (from === to) return "";
  const elements = Array.isArray(list)
    ? list.slice(from, to)
    : Array.from((list as Float64Array).subarray(from, to) as Iterable<unknown>);
  if (elements.every((element) => typeof element === "number")) return JSON.stringify(elements).slice(1, -1);
  return Array.from(elements, (element, index) => memberText(element, from + index, place)).join();
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

/** Elements and members of a value whose text is one piece, and characters, of which so many count as one. */
const PIECE_EXTENT = 16 * 1024;
const CHARACTERS_OF_ONE = 16;
/** Levels down to which a value is cut. */
const MAX_CUT_DEPTH = 64;

function* piecesOf(value: unknown, place: (string | number)[]): Generator<string> {
  if (place.length >= MAX_CUT_DEPTH || extentOf(value, 0) < PIECE_EXTENT) yield textOf(value, place);
  else if (typeof value === "string") yield* stringPieces(value);
  else if (isTensor(value)) yield* tensorPieces(createTensor(value.dtype, value.shape, value.data));
  else if (isList(value as object)) yield* listPieces(value as ArrayLike<unknown>, place);
  else yield* objectPieces(value as object, place);
}

/**
 * Elements, members and characters of a value, `before` included: at least {@link PIECE_EXTENT} if there are more. What
 * cannot be cut has none.
 */
function extentOf(value: unknown, before: number): number {
  if (typeof value === "string") return before + 1 + value.length / CHARACTERS_OF_ONE;
  if (typeof value !== "object" || value === null || isBuffer(value)) return before + 1;
  if (isTensor(value)) return before + tensorExtent(value);
  let extent = before + 1;
  if (isList(value)) {
    if (ArrayBuffer.isView(value)) return extent + value.length;
    for (let index = 0; index < value.length && extent < PIECE_EXTENT; index++) extent = extentOf(value[index], extent);
    return extent;
  }
  const { toJSON, then } = value as { toJSON?: unknown; then?: unknown };
  if (typeof toJSON === "function" || typeof then === "function") return extent;
  for (const name in value) {
    if (extent >= PIECE_EXTENT) break;
    extent = extentOf((value as Record<string, unknown>)[name], extent + 1);
  }
  return extent;
}

function tensorExtent({ dtype, shape, data }: Tensor): number {
  const extent = shape.length === 0 ? 1 : elementCount(shape);
  if (dtype !== "bytes" || extent < 2) return extent;
  return data.reduce((sum, { length }) => sum + length / CHARACTERS_OF_ONE, extent);
}

function* listPieces(list: ArrayLike<unknown>, place: (string | number)[]): Generator<string> {
  yield "[";
  for (let from = 0; from < list.length; ) {
    let to = from;
    for (let extent = 0; to < list.length; to++) {
      extent = extentOf(list[to], extent);
      if (extent >= PIECE_EXTENT) break;
    }
    if (from > 0) yield ",";
    if (to > from) yield elementsText(list, { from, to }, place);
    else {
      place.push(to++);
      yield* piecesOf(list[from], place);
      place.pop();
    }
    from = to;
  }
  yield "]";
}

function* objectPieces(value: object, place: (string | number)[]): Generator<string> {
  let before = "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ",";
    place.push(name);
    yield* piecesOf(member, place);
    place.pop();
  }
  yield before === "{" ? "{}" : "}";
}

function* stringPieces(text: string): Generator<string> {
  const length = PIECE_EXTENT * CHARACTERS_OF_ONE;
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(from + length, text.length);
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to--;
    const [start, end] = [from > 0 ? 1 : 0, to < text.length ? -1 : undefined];
    yield JSON.stringify(text.slice(from, to)).slice(start, end);
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Of rank 1 at least. */
function* tensorPieces(tensor: Tensor): Generator<string> {
  const { dtype, shape } = tensor;
  const [count = 0, ...inner] = shape;
  const data = tensor.data as Float64Array;
  const stride = data.length / count;
  const atOnce = Math.max(1, Math.floor(PIECE_EXTENT / (tensorExtent(tensor) / count)));
  const isCut = inner.length > 0 && elementCount(inner) > PIECE_EXTENT;
  yield "[";
  for (let from = 0; from < count; from += atOnce) {
    if (from > 0) yield ",";
    const to = Math.min(from + atOnce, count);
    const rows = data.slice(from * stride, to * stride) as never;
    if (isCut) yield* tensorPieces(createTensor(dtype, inner, rows));
    else yield tensorText(createTensor(dtype, [to - from, ...inner], rows)).slice(1, -1);
  }
  yield "]";
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
