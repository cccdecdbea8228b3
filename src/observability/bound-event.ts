import { MAX_LOG_TEXT, shorten, shortenMiddle } from "../platform/text/shorten.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Characters of the fields of one event together. */
const MAX_FIELDS = 2 * MAX_LOG_TEXT;
/** Levels of values in one another that are written. */
const MAX_DEPTH = 8;
/** Members of one list or object that are written. */
const MAX_MEMBERS = 200;
/** Characters that a value takes in addition to its text. */
const VALUE_SIZE = 8;
/** Integers up to it take few digits; writing one takes a time that grows with the square of their number. */
const MAX_INTEGER = 2n ** 256n;

/** An event's message, cut if it is longer than a line of the log may be. */
export function boundMessage(message: string): string {
  return typeof message === "string" ? shorten(message, MAX_LOG_TEXT) : message;
}

/**
 * An event's fields, cut if they are longer than a log is read for: users' code gives any value, and the main thread
 * looks through all of it for secrets. The same object if it is short enough.
 */
export function boundFields(fields: Fields): Fields {
  for (const name in fields) {
    if (isSmall(name, fields[name])) continue;
    try {
      return remaining(fields, MAX_FIELDS, 0) >= 0 ? fields : (shrunk(fields, { left: MAX_FIELDS }, 0) as Fields);
    } catch {
      // A getter or a Proxy of users' code: the writer has an answer to those.
      return fields;
    }
  }
  return fields;
}

/** Most fields are short texts and numbers; few names are on one event. */
function isSmall(name: string, value: unknown): boolean {
  if (name.length > 64) return false;
  if (typeof value === "string") return value.length <= 256;
  if (typeof value === "bigint") return !isLarge(value);
  return typeof value !== "object" || value === null;
}

/** The part of `left` that remains when a value is written; less than 0 as soon as it is too large or too deep. */
function remaining(value: unknown, left: number, depth: number): number {
  const after = left - VALUE_SIZE;
  if (typeof value === "string") return value.length > MAX_LOG_TEXT ? -1 : after - value.length;
  if (typeof value === "bigint") return isLarge(value) ? -1 : after - 64;
  if (typeof value !== "object" || value === null) return after;
  if (isMemory(value)) return after - 4 * value.byteLength;
  if (depth >= MAX_DEPTH) return -1;
  let rest = after;
  let members = 0;
  for (const [name, member] of membersOf(value)) {
    rest = remaining(member, rest - name.length, depth + 1);
    if (rest < 0 || ++members > MAX_MEMBERS) return -1;
  }
  return rest;
}

/** Own members, and the texts of an error, one after another: a list may have a hundred million. */
function* membersOf(value: object): Generator<readonly [string, unknown]> {
  if (value instanceof Error)
    yield* [
      ["message", value.message],
      ["stack", value.stack],
      ["cause", value.cause],
    ];
  if (value instanceof AggregateError) yield ["errors", value.errors];
  if (value instanceof Map || value instanceof Set) for (const entry of value) yield ["", entry];
  if (Array.isArray(value)) for (let at = 0; at < value.length; at++) yield ["", value[at]];
  else for (const name in value) if (Object.hasOwn(value, name)) yield [name, (value as Fields)[name]];
}

function isLarge(value: bigint): boolean {
  return value > MAX_INTEGER || value < -MAX_INTEGER;
}

function isMemory(value: object): value is ArrayBuffer | ArrayBufferView {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

/** Characters that may still be written. */
interface Budget {
  left: number;
}

function shrunk(value: unknown, budget: Budget, depth: number): unknown {
  budget.left -= VALUE_SIZE;
  if (typeof value === "string") return shrunkText(value, budget, shorten);
  if (typeof value === "bigint" && isLarge(value)) return "(a large integer)";
  if (typeof value !== "object" || value === null) return value;
  if (isMemory(value)) return `(${value.byteLength} bytes)`;
  if (value instanceof Map || value instanceof Set) return `(${value.size} entries)`;
  if (depth >= MAX_DEPTH) return "…";
  if (value instanceof Error) return shrunkError(value, budget, depth);
  return Array.isArray(value) ? shrunkList(value, budget, depth) : shrunkObject(value, budget, depth);
}

function shrunkText(text: string, budget: Budget, cut: typeof shorten): string {
  const kept = cut(text, Math.max(0, Math.min(MAX_LOG_TEXT, budget.left)));
  budget.left -= kept.length;
  return kept;
}

function shrunkError(error: Error, budget: Budget, depth: number): Error {
  const { message, stack, cause } = error;
  const short = new Error(shrunkText(String(message), budget, shorten));
  short.name = error.name;
  short.stack = shrunkText(String(stack ?? message), budget, shortenMiddle);
  if (cause !== undefined) short.cause = shrunk(cause, budget, depth + 1);
  return short;
}

function shrunkList(list: readonly unknown[], budget: Budget, depth: number): unknown[] {
  const short: unknown[] = [];
  while (short.length < Math.min(list.length, MAX_MEMBERS) && budget.left > 0)
    short.push(shrunk(list[short.length], budget, depth + 1));
  if (short.length < list.length) short.push(`… (${list.length - short.length} more)`);
  return short;
}

function shrunkObject(value: object, budget: Budget, depth: number): Fields {
  const short: Record<string, unknown> = Object.create(null);
  let members = 0;
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue;
    if (++members > MAX_MEMBERS || budget.left <= 0) return { ...short, "…": "(more members)" };
    const key = shorten(name, 256);
    budget.left -= key.length;
    short[key] = shrunk((value as Fields)[name], budget, depth + 1);
  }
  return { ...short };
}
