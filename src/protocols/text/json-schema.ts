import { failedPrecondition, type ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { shorten } from "../../platform/text/shorten.ts";
import type { TextPart } from "../../serving/infer-text.ts";
import { isObject } from "../../tensor/record.ts";
import type { MadeText } from "./text-answer.ts";

/** Characters of a text that is checked. */
export const MAX_TEXT = 256 * 1024;
/**
 * Members and items of schemas and values that are looked at, and every 64th of their texts' characters: a client's
 * schema may name itself, in many ways, and a hook may answer with what the client sends.
 */
const MAX_STEPS = 50_000;
const CHARACTERS_OF_STEP = 64;
const MAX_DEPTH = 200;
/** Characters of a place in a message. */
const MAX_PLACE = 100;
/** Characters of a reference that is followed. */
const MAX_REFERENCE = 1000;

/**
 * Checks the text of an answer against the JSON schema that its client has sent; throws `failed_precondition`, which is
 * no fault of the server, with the first place that does not fit. Some keywords are not checked ({@link UNCHECKED});
 * neither is a text of more than 256 K characters, nor what takes too long.
 */
export function checkJson(text: string, schema: unknown): void {
  if (text.length > MAX_TEXT) return;
  const found = new SchemaCheck(schema).misfit(parse(text), schema, "the answer");
  if (found !== undefined) throw doesNotFit(found);
}

/** {@link checkJson} with a schema as JSON, for a codec thread. @public */
export const checkTextJob = defineJob(import.meta.url, "checkTextJob", (text: string, schema: Uint8Array): void =>
  checkJson(text, JSON.parse(Buffer.from(schema).toString())),
);

/** The text of a stream, which is kept until all of it can be checked, unless that is too long. */
export class StreamedText {
  readonly #hold: (bytes: number) => void;
  #text = "";
  #isKept = true;

  /** `hold` counts so many bytes more, or less. */
  constructor(hold: (bytes: number) => void) {
    this.#hold = hold;
  }

  add({ text = "", refusal = "" }: Pick<TextPart, "text" | "refusal">): void {
    const before = this.#text.length;
    this.#isKept &&= refusal === "" && before + text.length <= MAX_TEXT;
    this.#text = this.#isKept ? this.#text + text : "";
    this.#hold(2 * (this.#text.length - before));
  }

  /** The whole text, if it is to fit; undefined = it is too long, or the answer is another one. */
  finalText({ finish, calls }: Pick<MadeText, "finish" | "calls">): string | undefined {
    return this.#isKept && finish === "stop" && calls.length === 0 ? this.#text : undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw doesNotFit("the answer is no JSON");
  }
}

function doesNotFit(what: string): ServingError {
  return failedPrecondition(`The answer does not fit the format that the request asks for: ${what}.`);
}

/** A value with its place, and the schema around a keyword. */
interface Asked {
  readonly value: unknown;
  readonly at: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly check: SchemaCheck;
}

/** The fault of a value by one keyword, whose value in the schema is `expected`; undefined = there is none. */
type Keyword = (expected: unknown, asked: Asked) => string | undefined;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

/** A limit of a number, or of a length. */
function limit(measure: (value: unknown) => number | undefined, fits: (has: number, limit: number) => boolean) {
  return (name: string): Keyword =>
    (expected, { value, at }) => {
      const has = measure(value);
      const isWrong = typeof expected === "number" && has !== undefined && !fits(has, expected);
      return isWrong ? `${at} has not ${name} ${expected}` : undefined;
    };
}

const numberOf = (value: unknown) => (typeof value === "number" ? value : undefined);
const charactersOf = (value: unknown) => (typeof value === "string" ? countCharacters(value) : undefined);
const itemsOf = (value: unknown) => (Array.isArray(value) ? value.length : undefined);
const membersOf = (value: unknown) => (isObject(value) ? Object.keys(value).length : undefined);
const most = (has: number, most: number) => has <= most;
const least = (has: number, least: number) => has >= least;

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: (expected, { value, at }) => {
    const types = Array.isArray(expected) ? expected : [expected];
    const isFitting = types.some((type) => typeof type !== "string" || TYPES[type]?.(value) !== false);
    return isFitting ? undefined : `${at} is not of the type ${shorten(types.join(" or "), MAX_PLACE)}`;
  },
  enum: (expected, { value, at, check }) => {
    const isFitting = !Array.isArray(expected) || expected.some((each) => check.isSame(each, value));
    return isFitting ? undefined : `${at} is none of the enum`;
  },
  const: (expected, { value, at, check }) => (check.isSame(expected, value) ? undefined : `${at} is not the const`),
  required: (expected, { value, at }) => {
    if (!isObject(value) || !Array.isArray(expected)) return undefined;
    const missing = expected.find((name) => typeof name === "string" && !Object.hasOwn(value, name));
    return missing === undefined ? undefined : `${placeIn(at, missing)} is missing`;
  },
  properties: (expected, { value, at, check }) => {
    if (!isObject(value) || !isObject(expected)) return undefined;
    const known = Object.keys(expected).filter((name) => Object.hasOwn(value, name));
    return first(known, (name) => check.misfit(value[name], expected[name], placeIn(at, name)));
  },
  additionalProperties: (expected, { value, at, schema, check }) => {
    if (!isObject(value) || isObject(schema.patternProperties)) return undefined;
    const known = isObject(schema.properties) ? schema.properties : {};
    const others = Object.keys(value).filter((name) => !Object.hasOwn(known, name));
    return first(others, (name) => check.misfit(value[name], expected, placeIn(at, name)));
  },
  prefixItems: (expected, { value, at, check }) => {
    if (!Array.isArray(value) || !Array.isArray(expected)) return undefined;
    return first(value.slice(0, expected.length), (each, index) =>
      check.misfit(each, expected[index], `${at}[${index}]`),
    );
  },
  items: (expected, { value, at, schema, check }) => {
    if (!Array.isArray(value)) return undefined;
    const from = Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0;
    return first(value.slice(from), (each, index) => check.misfit(each, expected, `${at}[${from + index}]`));
  },
  allOf: (expected, { value, at, check }) =>
    Array.isArray(expected) ? first(expected, (each) => check.misfit(value, each, at)) : undefined,
  anyOf: (expected, asked) => (countFitting(expected, asked) === 0 ? `${asked.at} fits none of anyOf` : undefined),
  oneOf: (expected, asked) => {
    const before = asked.check.unchecked;
    const count = countFitting(expected, asked);
    const isCertain = count === 0 || asked.check.unchecked === before;
    return count === undefined || count === 1 || !isCertain ? undefined : `${asked.at} fits ${count} of oneOf`;
  },
  $ref: (expected, { value, at, check }) => check.misfit(value, check.resolve(expected), at),
  minimum: limit(numberOf, least)("the minimum"),
  maximum: limit(numberOf, most)("the maximum"),
  exclusiveMinimum: limit(numberOf, (has, least) => has > least)("the exclusiveMinimum"),
  exclusiveMaximum: limit(numberOf, (has, most) => has < most)("the exclusiveMaximum"),
  minLength: limit(charactersOf, least)("the minLength"),
  maxLength: limit(charactersOf, most)("the maxLength"),
  minItems: limit(itemsOf, least)("the minItems"),
  maxItems: limit(itemsOf, most)("the maxItems"),
  minProperties: limit(membersOf, least)("the minProperties"),
  maxProperties: limit(membersOf, most)("the maxProperties"),
};

const NAMES = Object.keys(KEYWORDS);
/** Keywords that may refuse a value, and are not checked. */
const UNCHECKED: readonly string[] = [
  ...["pattern", "format", "multipleOf", "contentEncoding", "contentMediaType", "contentSchema"],
  ...["not", "if", "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef"],
  ...["uniqueItems", "contains", "additionalItems", "unevaluatedItems"],
  ...["patternProperties", "propertyNames", "unevaluatedProperties"],
];

/** One check, which ends as if all fitted once it has taken too long. */
class SchemaCheck {
  readonly #root: unknown;
  /** Grows with each part of the schema that is left unchecked: what seems to fit may not. */
  unchecked = 0;
  #steps = 0;
  #depth = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  /** The first place of a value that does not fit a schema, in words; undefined if it fits. */
  misfit(value: unknown, schema: unknown, at: string): string | undefined {
    if (schema === false) return `${at} is not to be there`;
    if (!isObject(schema)) return undefined;
    if (UNCHECKED.some((name) => Object.hasOwn(schema, name))) this.unchecked++;
    if (this.#isTooDeep()) return undefined;
    const asked = { value, at, schema, check: this };
    this.#depth++;
    const found = first(NAMES, (name) => {
      const expected = Object.hasOwn(schema, name) ? schema[name] : undefined;
      return expected === undefined || !this.#mayGoOn(expected, value) ? undefined : KEYWORDS[name]?.(expected, asked);
    });
    this.#depth--;
    return found;
  }

  /** Checks for equal values; those beyond a limit are taken for that. */
  isSame(a: unknown, b: unknown): boolean {
    if (a === b || !this.#mayGoOn(a, b) || this.#isTooDeep()) return true;
    if (!isMany(a) || !isMany(b) || Array.isArray(a) !== Array.isArray(b)) return false;
    const names = Object.keys(a);
    if (names.length !== Object.keys(b).length) return false;
    this.#depth++;
    const isSame = names.every((name) => Object.hasOwn(b, name) && this.isSame(a[name], b[name]));
    this.#depth--;
    return isSame;
  }

  /** Counts a look at both. */
  #mayGoOn(a: unknown, b: unknown): boolean {
    if (this.#steps <= MAX_STEPS) this.#steps += 1 + sizeOf(a) + sizeOf(b);
    const mayGoOn = this.#steps <= MAX_STEPS;
    if (!mayGoOn) this.unchecked++;
    return mayGoOn;
  }

  #isTooDeep(): boolean {
    const isTooDeep = this.#depth > MAX_DEPTH;
    if (isTooDeep) this.unchecked++;
    return isTooDeep;
  }

  /** The schema that a pointer into this document means; true, which all fits, for any other reference. */
  resolve(reference: unknown): unknown {
    const found = this.#find(reference);
    if (found === undefined) this.unchecked++;
    return found ?? true;
  }

  #find(reference: unknown): unknown {
    if (typeof reference !== "string" || reference.length > MAX_REFERENCE || !/^#(?:\/|$)/.test(reference))
      return undefined;
    let found: unknown = this.#root;
    for (const part of reference.split("/", MAX_DEPTH).slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (!isObject(found) || !Object.hasOwn(found, name)) return undefined;
      found = found[name];
    }
    return found;
  }
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function first<Item>(items: readonly Item[], check: (item: Item, index: number) => string | undefined) {
  for (const [index, item] of items.entries()) {
    const found = check(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function countFitting(expected: unknown, { value, at, check }: Asked): number | undefined {
  if (!Array.isArray(expected)) return undefined;
  return expected.filter((each) => check.misfit(value, each, at) === undefined).length;
}

function placeIn(at: string, name: string): string {
  return shorten(at === "the answer" ? name : `${at}.${name}`, MAX_PLACE);
}

function isMany(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Steps that a value takes. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length / CHARACTERS_OF_STEP;
  if (Array.isArray(value)) return value.length;
  return isMany(value) ? Object.keys(value).length : 0;
}
