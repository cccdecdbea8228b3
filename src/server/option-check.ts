import { invalidArgument } from "../errors.ts";
import { MAX_TIMER_MS } from "../platform/limits/call-limits.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { didYouMean } from "../platform/text/nearest.ts";
import { isObject } from "../tensor/record.ts";

/** One option: what it has to be, in words, and whether a value is that. */
export interface OptionCheck {
  readonly expected: string;
  accepts(value: unknown): boolean;
}

/** The options of an object, by name. */
export type OptionChecks = Readonly<Record<string, OptionCheck>>;

/** Checks that a value is a text with something in it. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** An integer of a range. */
export function integerCheck(min: number, max = Number.MAX_SAFE_INTEGER, unit = ""): OptionCheck {
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  return {
    expected: `an integer ${range}${unit}`,
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
  };
}

/** Milliseconds, decimals too, for which there is a timer. */
export const TIME_CHECK: OptionCheck = {
  expected: `a number of milliseconds from 0 to ${MAX_TIMER_MS}`,
  accepts: (value) => typeof value === "number" && value >= 0 && value <= MAX_TIMER_MS,
};
export const BOOLEAN_CHECK: OptionCheck = {
  expected: "true or false",
  accepts: (value) => typeof value === "boolean",
};
export const TEXT_CHECK: OptionCheck = { expected: "a text that is not empty", accepts: isText };
export const OBJECT_CHECK: OptionCheck = { expected: "an object", accepts: isObject };
/** Hooks, in one of their two forms. */
export const HOOKS_CHECK: OptionCheck = {
  expected: "a hook file's path or an object of hooks",
  accepts: (value: unknown) => isText(value) || isObject(value),
};

/** Members of a request log's options. */
export const REQUEST_LOG_CHECKS: OptionChecks = {
  prefix: TEXT_CHECK,
  rate: {
    expected: "a number from 0 to 1",
    accepts: (value) => typeof value === "number" && value >= 0 && value <= 1,
  },
  maxBytes: integerCheck(1, undefined, ", in bytes"),
  files: integerCheck(1),
};

/** A warm-up: one request or several. */
export const WARM_UP_CHECK: OptionCheck = {
  expected: '"random", a request file, { request, count } or an array of such',
  accepts: (value) => (Array.isArray(value) ? value.every(isWarmUpRequest) : isWarmUpRequest(value)),
};

function isWarmUpRequest(value: unknown): boolean {
  if (!isObject(value)) return isText(value);
  const { request, count = 1, ...others } = value;
  return isText(request) && integerCheck(1).accepts(count) && Object.keys(others).length === 0;
}

/**
 * Checks the members of an object; an option that is undefined counts as left out. Throws `invalid_argument` with the
 * option, what came and what was expected.
 */
export function checkMembers(prefix: string, given: object, known: OptionChecks): void {
  for (const [name, value] of Object.entries(given)) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (check === undefined) {
      const names = Object.keys(known);
      throw invalidArgument(
        `There is no option "${prefix}${name}".${didYouMean(name, names)} Expected some of ${names.join(", ")}.`,
      );
    }
    if (value !== undefined && !check.accepts(value))
      throw invalidArgument(`${prefix}${name} is ${valueText(value)}; expected ${check.expected}.`);
  }
}

/** Checks that the values of `-o` are texts. */
export function checkTexts(place: string, options: unknown): void {
  for (const [key, value] of Object.entries(options ?? {})) {
    if (typeof value === "string") continue;
    const hint = ["number", "boolean"].includes(typeof value) ? `: "${value}"` : "";
    throw invalidArgument(`${place}.${key} is ${kindOf(value)}; expected a text, as after -o ${key}=${hint}.`);
  }
}

function valueText(value: unknown): string {
  if (typeof value === "number") return String(value);
  return (isObject(value) ? shortJson(value) : undefined) ?? kindOf(value);
}

/** An object as JSON, if that is short and loses nothing but functions. */
function shortJson(value: object): string | undefined {
  try {
    const text = JSON.stringify(value);
    return text !== "{}" && text.length <= MAX_VALUE_TEXT ? text : undefined;
  } catch {
    return undefined;
  }
}

const MAX_VALUE_TEXT = 60;
