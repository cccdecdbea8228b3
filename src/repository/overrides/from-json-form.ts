import type { ConfigEntry, ConfigNode, ConfigScalar } from "../../codecs/config/config-node.ts";
import type { FieldKind, FieldTable } from "../config/field-table.ts";

/**
 * Converts a message from protobuf's JSON form to the tree of its text format: names in camel case are accepted too,
 * maps are objects, and default values are omitted.
 */
export function fromJsonForm(node: ConfigNode, table: FieldTable): ConfigNode {
  if (node.kind !== "map") return node;
  return { ...node, entries: node.entries.flatMap((entry) => toEntry(entry, table)) };
}

function toEntry(entry: ConfigEntry, table: FieldTable): ConfigEntry[] {
  const key = Object.hasOwn(table, entry.key) ? entry.key : snakeCase(entry.key);
  const kind = Object.hasOwn(table, key) ? table[key] : undefined;
  if (kind === undefined) return [entry];
  if (isAbsent(entry.value) || (kind.unused !== undefined && isEmptyMap(entry.value))) return [];
  return [{ ...entry, key, value: toValue(entry.value, kind) }];
}

function toValue(node: ConfigNode, kind: FieldKind): ConfigNode {
  if (node.kind === "list") return { ...node, items: node.items.map((item) => toValue(item, kind)) };
  if (kind.type === "group") return fromJsonForm(node, kind.fields);
  if (kind.type !== "pairs" || node.kind !== "map") return node;
  const items = node.entries.map((entry) => toPair(entry, kind.values));
  return { kind: "list", place: node.place, items };
}

function toPair({ key, place, value }: ConfigEntry, values: FieldKind): ConfigNode {
  const name: ConfigScalar = { kind: "scalar", place, value: key, text: key };
  const entries = [
    { key: "key", place, value: name },
    { key: "value", place, value: toValue(value, values) },
  ];
  return { kind: "map", place, entries };
}

/** Printers of protobuf's JSON may write fields that are not set. */
function isAbsent(node: ConfigNode): boolean {
  if (node.kind === "list") return node.items.length === 0;
  return node.kind === "scalar" && (node.value === "" || node.value === null);
}

function isEmptyMap(node: ConfigNode): boolean {
  return node.kind === "map" && node.entries.length === 0;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
