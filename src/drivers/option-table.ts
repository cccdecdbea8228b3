import { invalidArgument } from "../errors.ts";
import { maskOption } from "../platform/text/mask-secrets.ts";
import { didYouMean } from "../platform/text/nearest.ts";

/**
 * One `-o` key: how its text is read, what it means, what it is when left out. `aliasOf` names the key that the server
 * takes of every driver and that this is another name of. `replacesHost` marks a key of that name that the server takes
 * of other drivers: here the driver alone reads it.
 */
export type OptionSpec = { readonly help: string; readonly aliasOf?: string; readonly replacesHost?: true } & (
  | { readonly type: "string" | "boolean"; readonly default?: string | boolean }
  | { readonly type: "integer" | "number"; readonly default?: number; readonly min?: number }
  /** Case is ignored; the value is the choice as written here. */
  | { readonly type: "choice"; readonly choices: readonly string[]; readonly default?: string }
  /** A family of keys `PREFIX.KEY` with free text values; the option's value is a record by KEY. */
  | { readonly type: "prefix" }
);

/** The `-o` keys that a driver or a hook file takes. */
export type OptionTable<Options = unknown> = { readonly [Key in keyof Options & string]: OptionSpec };

/** Options of the command line: key and text. */
export type RawOptions = Readonly<Record<string, string>>;

/** Checks that a table takes a key. */
export function takesOption(table: OptionTable, key: string): boolean {
  return specFor(table, key) !== undefined;
}

/**
 * Reads the keys in a table and ignores the others; throws `invalid_argument` with the key, the given value and the
 * expected one.
 */
export function parseOptions<Options>(table: OptionTable<Options>, raw: RawOptions): Options {
  const parsed: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries<OptionSpec>(table)) {
    if (spec.type === "prefix") parsed[name] = prefixed(name, raw);
    else if (Object.hasOwn(raw, name)) parsed[name] = parseOption(name, spec, raw[name]!);
    else if (spec.default !== undefined) parsed[name] = spec.default;
  }
  return parsed as Options;
}

/**
 * Options with the table's aliases replaced by their keys. Throws `invalid_argument` for an invalid value, and if
 * both names are given.
 */
export function expandAliases(table: OptionTable, raw: RawOptions): RawOptions {
  const expanded: Record<string, string> = { ...raw };
  for (const [key, spec] of Object.entries<OptionSpec>(table)) {
    const { aliasOf } = spec;
    if (aliasOf === undefined || spec.type === "prefix" || !Object.hasOwn(raw, key)) continue;
    const text = raw[key]!;
    parseOption(key, spec, text);
    if (Object.hasOwn(raw, aliasOf)) {
      const message = `The options "${key}" and "${aliasOf}" are two names of one; give one of them.`;
      throw invalidArgument(message);
    }
    expanded[aliasOf] = text;
  }
  return expanded;
}

/** Ways to write a boolean, in lower case. */
export const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["true", "1", "yes", "on"].map((word) => [word, true] as const),
  ...["false", "0", "no", "off"].map((word) => [word, false] as const),
]);

function parseOption(name: string, spec: Exclude<OptionSpec, { type: "prefix" }>, text: string): unknown {
  switch (spec.type) {
    case "string":
      return text;
    case "boolean":
      return BOOLEANS.get(text.toLowerCase()) ?? refuse(name, text, "true or false");
    case "choice":
      return (
        spec.choices.find((choice) => choice.toLowerCase() === text.toLowerCase()) ??
        refuse(name, text, `one of ${spec.choices.join(", ")}`, didYouMean(text, spec.choices))
      );
    case "integer":
    case "number":
      return parseNumber(name, spec, text);
  }
}

const NUMBERS = {
  integer: {
    isValid: (text: string) => /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text)),
    expected: "an integer",
  },
  number: { isValid: (text: string) => text.trim() !== "" && Number.isFinite(Number(text)), expected: "a number" },
} as const;

function parseNumber(name: string, spec: Extract<OptionSpec, { min?: number }>, text: string): number {
  const { isValid, expected } = NUMBERS[spec.type];
  const { min = Number.NEGATIVE_INFINITY } = spec;
  if (isValid(text) && Number(text) >= min) return Number(text);
  return refuse(name, text, spec.min === undefined ? expected : `${expected} of ${spec.min} or more`);
}

function refuse(name: string, text: string, expected: string, hint = ""): never {
  throw invalidArgument(`Option "${name}" is "${maskOption(name, text)}"; expected ${expected}.${hint}`);
}

function specFor(table: OptionTable, key: string): OptionSpec | undefined {
  const specs = table as Readonly<Record<string, OptionSpec>>;
  if (Object.hasOwn(specs, key)) return specs[key]?.type === "prefix" ? undefined : specs[key];
  const prefix = key.split(".", 1)[0]!;
  const spec = Object.hasOwn(specs, prefix) ? specs[prefix] : undefined;
  return spec?.type === "prefix" && key.length > prefix.length + 1 ? spec : undefined;
}

function prefixed(prefix: string, raw: RawOptions): Record<string, string> {
  const keys = Object.keys(raw).filter((key) => key.startsWith(`${prefix}.`) && key.length > prefix.length + 1);
  return Object.fromEntries(keys.map((key) => [key.slice(prefix.length + 1), raw[key]!]));
}
