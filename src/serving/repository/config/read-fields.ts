import { type OptionTable, takesOption } from "../../../drivers/option-table.ts";
import { didYouMean } from "../../../platform/text/nearest.ts";
import type { ConfigEntry, ConfigMap, ConfigNode, ConfigScalar } from "../../../tensor/codecs/config/config-node.ts";
import { createRecord } from "../../../tensor/record.ts";
import { MAX_VERSION } from "../../parse-version.ts";
import type { FieldKind, FieldSpec, FieldTable, FieldValues } from "./field-table.ts";
import { describeNode, type Findings, jsonOf, refuseValue } from "./findings.ts";

/** Rules for reading a file. */
export interface ReadOptions {
  readonly findings: Findings;
  /** True if an unknown key is only a warning, as in the formats of servers that ignore it. */
  readonly ignoresUnknown?: boolean;
}

/**
 * Reads a part of a configuration file by its table. Errors are added to the findings, and their values omitted.
 * Undefined if the part itself is invalid, or lacks a required key. `whose` is its name in messages.
 */
export function readFields<const Table extends FieldTable>(
  node: ConfigNode,
  table: Table,
  { whose, ...options }: ReadOptions & { readonly whose: string },
): FieldValues<Table> | undefined {
  const { findings } = options;
  if (node.kind !== "map") {
    findings.error(node.place, `${whose} is ${describeNode(node)}; expected keys with values: ${keysOf(table)}.`);
    return undefined;
  }
  const values: Record<string, unknown> = {};
  for (const [key, entries] of groupByKey(node)) {
    const spec = Object.hasOwn(table, key) ? table[key] : undefined;
    if (spec === undefined) reportUnknown(entries[0]!, table, { whose, ...options });
    else readField(values, spec, { key, entries }, options);
  }
  const missing = Object.keys(table).filter(
    (key) => table[key]?.required && !node.entries.some((one) => one.key === key),
  );
  for (const key of missing) findings.error(node.place, `${whose} lacks the key "${key}"${meaningOf(table[key])}.`);
  const isWhole = Object.entries(table).every(([key, { required }]) => !required || Object.hasOwn(values, key));
  return isWhole ? (values as FieldValues<Table>) : undefined;
}

function meaningOf(spec: FieldSpec | undefined): string {
  return spec?.help === undefined ? "" : `: ${spec.help}`;
}

function groupByKey({ entries }: ConfigMap): Map<string, ConfigEntry[]> {
  const byKey = new Map<string, ConfigEntry[]>();
  for (const entry of entries) {
    const same = byKey.get(entry.key) ?? [];
    same.push(entry);
    byKey.set(entry.key, same);
  }
  return byKey;
}

function reportUnknown(
  { key, place }: ConfigEntry,
  table: FieldTable,
  { whose, findings, ignoresUnknown = false }: ReadOptions & { readonly whose: string },
): void {
  const hint = findings.takesWarnings ? didYouMean(key, Object.keys(table)) : "";
  if (key.startsWith("[")) findings.warn(place, `The extension ${key} is ignored.`);
  else if (ignoresUnknown) findings.warn(place, `The key "${key}" of ${whose} is ignored; it is not known.${hint}`);
  else findings.error(place, `${whose} has no key "${key}".${hint} Expected some of ${keysOf(table)}.`);
}

function keysOf(table: FieldTable): string {
  return Object.keys(table).join(", ");
}

interface GivenField {
  readonly key: string;
  readonly entries: readonly ConfigEntry[];
}

function readField(values: Record<string, unknown>, spec: FieldSpec, given: GivenField, options: ReadOptions): void {
  const { key, entries } = given;
  const [first, second] = entries as [ConfigEntry, ConfigEntry?];
  const nodes = entries.map(({ value }) => value);
  if (spec.unused !== undefined) {
    options.findings.warn(first.place, `"${key}" changes nothing here: ${spec.unused}.`);
  } else if (spec.type === "pairs") {
    values[key] = readPairs(key, nodes.flatMap(itemsOf), spec.values, options);
  } else if (spec.repeated) {
    const items = nodes.flatMap(itemsOf).map((item) => readValue(key, item, spec, options));
    values[key] = items.filter((item) => item !== undefined);
  } else if (second !== undefined) {
    options.findings.error(second.place, `"${key}" is given a second time; it takes one value.`);
  } else if (!isNull(first.value)) {
    const value = readValue(key, first.value, spec, options);
    if (value !== undefined) values[key] = value;
  }
}

/** A key without a value counts as absent. */
function isNull(node: ConfigNode): boolean {
  return node.kind === "scalar" && node.value === null;
}

function itemsOf(node: ConfigNode): readonly ConfigNode[] {
  if (isNull(node)) return [];
  return node.kind === "list" ? node.items : [node];
}

/** Undefined for an invalid value, which is added to the findings. */
function readValue(key: string, node: ConfigNode, kind: FieldKind, options: ReadOptions): unknown {
  switch (kind.type) {
    case "any":
      return node;
    case "group":
      return readFields(node, kind.fields, { ...options, whose: `"${key}"` });
    case "map":
      return readMap(key, node, kind.values, options);
    case "pairs":
      return readPairs(key, itemsOf(node), kind.values, options);
    case "options":
      return readOptions(key, node, kind.table, options);
    case "custom":
      return kind.read(node) ?? refuseValue({ key, node, ...options }, kind.expected);
    default:
      return readScalar(key, node, kind, options.findings);
  }
}

function readMap(key: string, node: ConfigNode, values: FieldKind, options: ReadOptions) {
  if (node.kind !== "map") return refuseValue({ key, node, ...options }, "names with values");
  const read = node.entries.map((entry) => [entry.key, readValue(entry.key, entry.value, values, options)] as const);
  return new Map(read.filter(([, value]) => value !== undefined));
}

function readPairs(key: string, nodes: readonly ConfigNode[], values: FieldKind, options: ReadOptions) {
  const pairs = new Map<string, unknown>();
  for (const node of nodes) {
    const fields = { key: { type: "text", required: true }, value: { type: "any", required: true } } as const;
    const pair = readFields(node, fields, { ...options, whose: `"${key}"` });
    const value = pair && readValue(pair.key, pair.value, values, options);
    if (pair !== undefined && value !== undefined) pairs.set(pair.key, value);
  }
  return pairs;
}

function readOptions(key: string, node: ConfigNode, table: OptionTable | undefined, options: ReadOptions) {
  if (node.kind !== "map") return refuseValue({ key, node, ...options }, "options with values");
  // Without a prototype, so that `__proto__` is an ordinary key.
  const raw = createRecord<string>();
  for (const { key: name, place, value } of node.entries) {
    const text = value.kind === "scalar" ? value.text : jsonOf(value);
    if (table !== undefined && !takesOption(table, name)) {
      const hint = didYouMean(name, Object.keys(table));
      options.findings.error(place, `"${key}" has no key "${name}".${hint} Expected some of ${keysOf(table)}.`);
    } else raw[name] = text;
  }
  return raw;
}

/** Reads a single value; undefined for an invalid one, which is added to the findings. */
function readScalar(key: string, node: ConfigNode, kind: FieldKind, findings: Findings): unknown {
  const fail = (expected: string, hint = "") => refuseValue({ key, node, findings }, expected, hint);
  const scalar = node.kind === "scalar" && node.value !== null ? node : undefined;
  switch (kind.type) {
    case "text":
      return scalar === undefined || scalar.isWord || scalar.text === "" ? fail("a text in quotes") : scalar.text;
    case "boolean":
      return booleanOf(scalar) ?? fail("true or false");
    case "number": {
      const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = kind;
      const number = numberOf(scalar);
      return number !== undefined && number >= min && number <= max ? number : fail(rangeText(kind, "a number"));
    }
    case "version": {
      const version = integerOf(scalar);
      return version === undefined || version < 0n || version > MAX_VERSION
        ? fail("a version: an integer from 0 to 9223372036854775807")
        : version;
    }
    case "integer": {
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = kind;
      const integer = integerOf(scalar);
      const fits = integer !== undefined && integer >= BigInt(min) && integer <= BigInt(max);
      return fits ? Number(integer) : fail(rangeText(kind));
    }
    case "choice": {
      const text = scalar?.text ?? "";
      const choice = kind.choices.find((one) => one.toLowerCase() === text.toLowerCase());
      const reason = choice === undefined ? undefined : kind.unusedChoices?.[choice];
      if (reason !== undefined) findings.warn(node.place, `"${key}: ${choice}" changes nothing here: ${reason}.`);
      return choice ?? fail(`one of ${kind.choices.join(", ")}`, didYouMean(text, kind.choices));
    }
  }
}

function rangeText({ min, max }: { readonly min?: number; readonly max?: number }, what = "an integer"): string {
  if (min !== undefined && max !== undefined) return `${what} from ${min} to ${max}`;
  return min === undefined ? what : `${what} of ${min} or more`;
}

/** Protobuf's text format also allows 1 and 0. */
function booleanOf(scalar: ConfigScalar | undefined): boolean | undefined {
  if (typeof scalar?.value === "boolean") return scalar.value;
  return scalar?.value === 1n ? true : scalar?.value === 0n ? false : undefined;
}

/** Other servers' JSON files sometimes have numbers in quotes. */
function integerOf(scalar: ConfigScalar | undefined): bigint | undefined {
  if (typeof scalar?.value === "bigint") return scalar.value;
  return typeof scalar?.value === "string" && /^-?\d+$/.test(scalar.value) ? BigInt(scalar.value) : undefined;
}

function numberOf(scalar: ConfigScalar | undefined): number | undefined {
  const value = Number(scalar === undefined || scalar.text.trim() === "" ? Number.NaN : scalar.text);
  return Number.isFinite(value) && typeof scalar?.value !== "boolean" ? value : undefined;
}
