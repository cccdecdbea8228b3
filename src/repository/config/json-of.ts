import type { ConfigNode } from "../../codecs/config/config-node.ts";

/** A nested value as JSON text, as an `-o` option takes it. */
export function jsonOf(node: ConfigNode): string {
  if (node.kind === "list") return `[${node.items.map(jsonOf).join(",")}]`;
  if (node.kind === "map")
    return `{${node.entries.map(({ key, value }) => `${JSON.stringify(key)}:${jsonOf(value)}`).join(",")}}`;
  return typeof node.value === "bigint" ? String(node.value) : JSON.stringify(node.value);
}
