import { didYouMean } from "../../platform/text/nearest.ts";
import { type ConfigEntry, type ConfigNode, configError } from "../../tensor/codecs/config/config-node.ts";
import type { CallKind } from "../caller.ts";
import { type AccessRule, AccessRules, NamePatterns, type Permission } from "./access-rules.ts";

/** Kinds of calls by the words of a file. */
const KINDS: Readonly<Record<string, Permission>> = {
  infer: "inference",
  read: "read",
  control: "control",
  metrics: "metrics",
  health: "health",
  priority: "priority",
};
/** Kinds that a rule is about if it names none. */
const USUAL_KINDS: readonly CallKind[] = ["inference", "read"];

/** Reads the rules of a file; throws `invalid_argument` with the place of what cannot be meant. */
export function readRules(node: ConfigNode | undefined, file: string): AccessRules {
  const start = { file, line: 1, column: 1 };
  if (node?.kind !== "map")
    throw configError(node?.place ?? start, "The file has no rules; expected allow: with a list of rules.");
  const { open, allow } = membersOf(node.entries, ["open", "allow"]);
  return new AccessRules({
    open: open && textsOf(open).map(toOpenKind),
    allow: allow && itemsOf(allow).map(toRule),
  });
}

function toRule(node: ConfigNode): AccessRule {
  if (node.kind !== "map")
    throw configError(node.place, "A rule is keys and values; expected who:, and perhaps kinds: and models:.");
  const { who, kinds, models } = membersOf(node.entries, ["who", "kinds", "models"]);
  if (who === undefined)
    throw configError(node.place, 'The rule names no caller; expected who: with names, or "*" for who is known.');
  const read = new Set(kinds === undefined ? USUAL_KINDS : textsOf(kinds).map(toKind));
  if (models !== undefined && read.has("metrics"))
    throw configError(models.place, "Metrics are about all models; allow them by a rule without models:.");
  return { who: toPatterns(who), kinds: read, models: models === undefined ? NamePatterns.EVERY : toPatterns(models) };
}

function toPatterns(node: ConfigNode): NamePatterns {
  return new NamePatterns(textsOf(node).map(({ text }) => text));
}

function toOpenKind(scalar: Text): CallKind {
  const kind = toKind(scalar);
  if (kind === "priority")
    throw configError(scalar.place, "Priority before others is for callers with a name; expected a rule under allow:.");
  if (kind !== "control") return kind;
  throw configError(scalar.place, "What changes the server is never open to everybody; expected a rule under allow:.");
}

function toKind({ text, place }: Text): Permission {
  const kind = Object.hasOwn(KINDS, text) ? KINDS[text] : undefined;
  if (kind !== undefined) return kind;
  const names = Object.keys(KINDS);
  throw configError(
    place,
    `There is no kind "${text}" of calls.${didYouMean(text, names)} Expected some of ${names.join(", ")}.`,
  );
}

type Text = Extract<ConfigNode, { kind: "scalar" }>;

/** A text, or a list of such. */
function textsOf(node: ConfigNode): readonly Text[] {
  const items = node.kind === "list" ? node.items : [node];
  return items.map((item) => {
    if (item.kind === "scalar" && item.text !== "") return item;
    throw configError(item.place, "Expected a text, or a list of texts.");
  });
}

function itemsOf(node: ConfigNode): readonly ConfigNode[] {
  if (node.kind === "list") return node.items;
  throw configError(node.place, "Expected a list of rules, each of which begins with a dash.");
}

/** The values of the keys that there may be. */
function membersOf<Key extends string>(
  entries: readonly ConfigEntry[],
  keys: readonly Key[],
): { readonly [Each in Key]?: ConfigNode } {
  for (const { key, place } of entries) {
    if (keys.some((known) => known === key)) continue;
    throw configError(place, `There is no key "${key}".${didYouMean(key, keys)} Expected some of ${keys.join(", ")}.`);
  }
  return Object.fromEntries(entries.map(({ key, value }) => [key, value])) as { readonly [Each in Key]?: ConfigNode };
}
