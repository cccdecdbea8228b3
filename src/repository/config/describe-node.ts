import type { ConfigMap, ConfigNode } from "../../codecs/config/config-node.ts";
import { jsonOf } from "./json-of.ts";

const MAX_GROUP_TEXT = 60;

/** A short description of a value, for messages. */
export function describeNode(node: ConfigNode): string {
  if (node.kind === "list") return "a list";
  if (node.kind === "map") return groupText(node);
  if (node.value === null) return "empty";
  return node.isWord ? `${node.text}, without quotes` : JSON.stringify(node.text);
}

/** A group as JSON where that is short. */
function groupText(node: ConfigMap): string {
  const text = jsonOf(node);
  return text.length <= MAX_GROUP_TEXT ? text : "a group of keys";
}
