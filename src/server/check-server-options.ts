import { ServingError } from "../errors.ts";
import { kindOf } from "../hooks/kind-of.ts";
import { SERVER_DEFAULTS } from "../limits/server-defaults.ts";
import { didYouMean } from "../text/nearest.ts";
import type { ServerOptions } from "./server.ts";

/** One option: what it has to be, in words, and whether a value is that. */
interface Check {
  readonly expected: string;
  accepts(value: unknown): boolean;
}

const isText = (value: unknown) => typeof value === "string" && value !== "";
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
const integer = (min: number, max = Number.MAX_SAFE_INTEGER, unit = ""): Check => ({
  expected:
    max === Number.MAX_SAFE_INTEGER ? `an integer of ${min} or more${unit}` : `an integer from ${min} to ${max}${unit}`,
  accepts: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
});

const TEXT: Check = { expected: "a text that is not empty", accepts: isText };
const BOOLEAN: Check = { expected: "true or false", accepts: (value) => typeof value === "boolean" };
const PORT = integer(0, 65535, " (0 picks a free one)");
const BYTES = integer(1, 2 ** 31 - 1, ", in bytes");
const AMOUNT: Check = {
  expected: "a number of 0 or more",
  accepts: (value) => typeof value === "number" && value >= 0 && Number.isFinite(value),
};
const OBJECT: Check = { expected: "an object", accepts: isObject };

/** As the command line's table of settings has them, for the same values. What is not here has to be of the type of its default. */
const OPTIONS = {
  models: { expected: "an array of models", accepts: Array.isArray },
  hooks: {
    expected: "a hook file's path or an object of hooks",
    accepts: (value: unknown) => isText(value) || isObject(value),
  },
  options: OBJECT,
  host: TEXT,
  port: PORT,
  http: OBJECT,
  corsOrigins: {
    expected: "an array of texts",
    accepts: (value: unknown) => Array.isArray(value) && value.every(isText),
  },
  maxMessageBytes: BYTES,
  workers: integer(0),
  instances: integer(1),
  threads: integer(1),
  hookMemoryMb: integer(16, undefined, ", in megabytes"),
  maxQueue: integer(1),
  maxQueueBytes: BYTES,
  log: { expected: 'a logger, such as createLogger({ level: "info" })', accepts: isLogger },
} satisfies Readonly<Record<string, Check>>;

/** By the type of the default. */
const BY_TYPE: Readonly<Record<string, Check>> = { number: AMOUNT, boolean: BOOLEAN, string: TEXT };

/** Every option that is known. */
const CHECKS: { readonly [Name in keyof Required<ServerOptions>]: Check } = {
  ...(Object.fromEntries(
    Object.entries(SERVER_DEFAULTS).map(([name, value]) => [name, BY_TYPE[typeof value] as Check]),
  ) as { readonly [Name in keyof typeof SERVER_DEFAULTS]: Check }),
  ...OPTIONS,
};
const HTTP = { port: PORT };
const MODEL = {
  driver: TEXT,
  path: { expected: "a text", accepts: (value) => typeof value === "string" },
  options: OBJECT,
} satisfies Record<string, Check>;

const EXAMPLE = 'createServer({ models: [{ path: "model.onnx" }], http: {} })';

/** Checks what `createServer` is given as the command line checks its flags; throws `invalid_argument` with the option, what came and what is expected. */
export function checkServerOptions(options: unknown): asserts options is ServerOptions {
  if (!isObject(options))
    throw invalid(`createServer takes an object of options, not ${kindOf(options)}; for example ${EXAMPLE}.`);
  const given = options as Partial<Record<string, unknown>>;
  checkMembers("", given, CHECKS);
  if (given.models === undefined)
    throw invalid(`The option models is missing: an array with at least one model; for example ${EXAMPLE}.`);
  for (const [index, model] of (given.models as readonly unknown[]).entries()) checkModel(model, `models[${index}]`);
  checkTexts("options", given.options);
  if (given.http !== undefined) checkMembers("http.", given.http as object, HTTP);
}

function checkModel(model: unknown, place: string): void {
  if (!isObject(model))
    throw invalid(`${place} is ${kindOf(model)}; expected an object such as { path: "model.onnx" }.`);
  checkMembers(`${place}.`, model as object, MODEL);
  checkTexts(`${place}.options`, (model as { options?: unknown }).options);
}

/** An option that is undefined counts as left out. */
function checkMembers(prefix: string, given: object, known: Readonly<Record<string, Check>>): void {
  for (const [name, value] of Object.entries(given)) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (check === undefined) {
      const names = Object.keys(known);
      throw invalid(
        `There is no option "${prefix}${name}".${didYouMean(name, names)} Expected some of ${names.join(", ")}.`,
      );
    }
    if (value !== undefined && !check.accepts(value))
      throw invalid(`${prefix}${name} is ${valueText(value)}; expected ${check.expected}.`);
  }
}

/** What `-o` takes is text. */
function checkTexts(place: string, options: unknown): void {
  for (const [key, value] of Object.entries(options ?? {})) {
    if (typeof value === "string") continue;
    const hint = ["number", "boolean"].includes(typeof value) ? `: "${value}"` : "";
    throw invalid(`${place}.${key} is ${kindOf(value)}; expected a text, as after -o ${key}=${hint}.`);
  }
}

function valueText(value: unknown): string {
  return typeof value === "number" ? String(value) : kindOf(value);
}

function isLogger(value: unknown): boolean {
  return (
    isObject(value) &&
    ["debug", "info", "warn", "error", "child"].every(
      (name) => typeof (value as Record<string, unknown>)[name] === "function",
    )
  );
}

function invalid(message: string): ServingError {
  return new ServingError("invalid_argument", message);
}
