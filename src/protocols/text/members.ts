import { hintedError } from "../../error-info.ts";
import { invalidArgument, publicText, type ServingError } from "../../errors.ts";
import { kindOf } from "../../platform/text/kind-of.ts";
import { shorten } from "../../platform/text/shorten.ts";
import { checkJsonExtent } from "../../tensor/codecs/json/json-extent.ts";
import { isObject } from "../../tensor/record.ts";

/** Characters of a wrong value in a message. */
const MAX_SHOWN = 40;

/** An error about a member of a request's body, whose name clients get as `param`. */
export function wrongMember(field: string, what: string, expected: string): ServingError {
  const message = `${field} is ${what}; expected ${expected}.`;
  return hintedError("invalid_argument", message, { reason: "WRONG_PARAMETER", field, expected });
}

/** A wrong value in words: a short text or number as it is, of all others their kind. */
function shownValue(value: unknown): string {
  if (typeof value === "string" && value !== "") return shorten(JSON.stringify(value), MAX_SHOWN);
  if (Array.isArray(value) && value.length === 0) return "an empty list";
  return typeof value === "number" || typeof value === "boolean" ? String(value) : kindOf(value);
}

/** Items of a list: messages, parts of one, images, tools, calls. */
export const MAX_OBJECTS = 4096;

/** Limits of a number. */
interface NumberLimits {
  readonly min?: number;
  readonly isWhole?: true;
}

/**
 * The members of a JSON object; one that may be absent may be null. Throws {@link wrongMember} for a
 * value of another type. Of a whole body, the members that were not asked for are those that are left.
 */
export class Members {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #place: string;
  /** Undefined for most within a body: a large one has very many objects. */
  readonly #asked: Set<string> | undefined;
  readonly #within = new Map<string, Members>();

  constructor(values: Readonly<Record<string, unknown>>, place = "", hasRest = place === "") {
    this.#values = values;
    this.#place = place;
    this.#asked = hasRest ? new Set() : undefined;
  }

  /** The name of a member with the way to it: `messages[0].role`. */
  placeOf(name: string): string {
    return this.#place === "" ? name : `${this.#place}.${name}`;
  }

  /** Undefined for one that is absent or null. */
  value(name: string): unknown {
    this.#asked?.add(name);
    return this.peek(name);
  }

  /** As {@link value}, for one that is not asked for by that. */
  peek(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? undefined) : undefined;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    throw this.wrong(name, "a text");
  }

  /** Throws for one that is absent, too. */
  requiredText(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw this.wrong(name, "a text");
    return text;
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.wrong(name, "true or false");
  }

  number(name: string, { min, isWhole }: NumberLimits = {}): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const isFitting = typeof value === "number" && Number.isFinite(value) && value >= (min ?? Number.NEGATIVE_INFINITY);
    if (isFitting && (isWhole !== true || Number.isSafeInteger(value))) return value;
    throw this.wrong(name, `${isWhole ? "a whole number" : "a number"}${min === undefined ? "" : `, ${min} or more`}`);
  }

  /** `hasRest`: its {@link rest} are those that were not asked for. */
  object(name: string, hasRest = false): Members | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (isObject(value)) return new Members(value, this.placeOf(name), hasRest);
    throw this.wrong(name, "an object");
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    if (value === undefined || Array.isArray(value)) return value;
    throw this.wrong(name, "a list");
  }

  /** A list of objects or images, which are not too many; empty if it is absent. */
  fewOf(name: string): readonly unknown[] {
    const list = this.list(name) ?? [];
    if (list.length <= MAX_OBJECTS) return list;
    throw wrongMember(this.placeOf(name), `a list of ${list.length} items`, `${MAX_OBJECTS} at most`);
  }

  /** Reads each object of a list before the next one; none if it is absent. */
  objects<Read>(name: string, read: (members: Members) => Read): readonly Read[] {
    return this.fewOf(name).map((each, index) => {
      const place = `${this.placeOf(name)}[${index}]`;
      if (isObject(each)) return read(new Members(each, place));
      throw wrongMember(place, shownValue(each), "an object");
    });
  }

  /** One of some texts, or the first of them. */
  choice<const Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice {
    const value = this.value(name) ?? choices[0];
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw this.wrong(name, choices.join(", "));
    return found;
  }

  /** As {@link object}, of which {@link rest} has the members that were not asked for. */
  within(name: string): Members | undefined {
    const found = this.object(name, true);
    if (found !== undefined) this.#within.set(name, found);
    return found;
  }

  /** The members that were not asked for, without those that are null. */
  rest(): Readonly<Record<string, unknown>> {
    const left = Object.entries(this.#values).filter(
      ([name, value]) => this.#asked?.has(name) !== true && value !== null,
    );
    const parts = Array.from(this.#within, ([name, members]) => [name, members.rest()] as const);
    return Object.fromEntries([...left, ...parts.filter(([, part]) => Object.keys(part).length > 0)]);
  }

  /** The error for the value of a member. */
  wrong(name: string, expected: string): ServingError {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return wrongMember(this.placeOf(name), value === undefined ? "missing" : shownValue(value), expected);
  }
}

/** Members of all objects of a body: a million different names take a thread many seconds. */
const MAX_MEMBERS = 128 * 1024;

/** Reads a body that is one JSON object; throws `invalid_argument` for any other. */
export function parseMembers(body: Uint8Array): Members {
  return new Members(parseObject(body, "The body"));
}

/** Reads such an object, which messages call by that name; it may have so many times the members of a body. */
export function parseObject(json: Uint8Array, name: string, growth = 1): Readonly<Record<string, unknown>> {
  const value = parseJson(json, name, growth);
  if (isObject(value)) return value;
  throw invalidArgument(`${name} is ${kindOf(value)}; expected a JSON object.`);
}

function parseJson(json: Uint8Array, name: string, growth: number): unknown {
  if (json.length === 0) throw invalidArgument(`${name} is empty; expected a JSON object.`);
  checkJsonExtent(json, "send less at once", growth * MAX_MEMBERS);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(json));
  } catch (reason) {
    const what = reason instanceof SyntaxError ? publicText(reason) : "it is not UTF-8";
    throw invalidArgument(`${name} is not JSON: ${what}`, reason);
  }
}

/** The JSON of a request for a function of hooks. */
export function writeRequest(request: object): Uint8Array {
  return new Uint8Array(Buffer.from(JSON.stringify(request)));
}
