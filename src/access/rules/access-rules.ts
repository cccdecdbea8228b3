import { didYouMean } from "../../platform/text/nearest.ts";
import { type ConfigEntry, type ConfigNode, configError } from "../../tensor/codecs/config/config-node.ts";
import type { Identity } from "../authentication/identity.ts";
import type { CallKind } from "../caller.ts";

/** A permission: a kind of calls, or that the priority of requests counts before other clients' turns. */
export type Permission = CallKind | "priority";

/** These callers may make these kinds of calls of these models. */
export interface AccessRule {
  readonly who: NamePatterns;
  readonly kinds: ReadonlySet<Permission>;
  readonly models: NamePatterns;
}

/** The permissions of a server. */
interface AccessRulesOptions {
  /** Kinds of calls for which no caller needs a name. Default: health. */
  readonly open?: Iterable<CallKind> | undefined;
  /** Default: who is known may make all kinds of calls. */
  readonly allow?: readonly AccessRule[] | undefined;
}

/** Says who may make which kinds of calls, and of which models. */
export class AccessRules {
  readonly #open: ReadonlySet<CallKind>;
  readonly #allow: readonly AccessRule[] | undefined;
  readonly #known = new WeakMap<Identity, Map<Permission, NamePatterns | undefined>>();

  constructor({ open = ["health"], allow }: AccessRulesOptions = {}) {
    this.#open = new Set(open);
    this.#allow = allow;
  }

  /** Checks that calls of a kind need no name. */
  isOpen(kind: CallKind): boolean {
    return kind === "page" || this.#open.has(kind);
  }

  /** Models that a caller may name in calls of a kind; undefined if it may make none. */
  modelsFor(identity: Identity, kind: Permission): NamePatterns | undefined {
    const known = this.#known.get(identity) ?? new Map<Permission, NamePatterns | undefined>();
    if (known.has(kind)) return known.get(kind);
    const models = this.#find(identity, kind);
    this.#known.set(identity, known.set(kind, models));
    return models;
  }

  #find({ names }: Identity, kind: Permission): NamePatterns | undefined {
    if (this.#allow === undefined) return kind === "priority" ? undefined : NamePatterns.EVERY;
    const rules = this.#allow.filter(({ who, kinds }) => kinds.has(kind) && names.some((name) => who.matches(name)));
    return rules.length === 0 ? undefined : new NamePatterns(rules.flatMap(({ models }) => models.texts));
  }
}

/** Names, of which `*` stands for any text. */
export class NamePatterns {
  /** Every name. */
  static readonly EVERY = new NamePatterns(["*"]);

  readonly texts: readonly string[];
  readonly #names: ReadonlySet<string>;
  readonly #patterns: readonly Pattern[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.#names = new Set(texts);
    this.#patterns = texts.filter((text) => text.includes("*")).map(toPattern);
  }

  /** True if any name is meant. */
  get isEvery(): boolean {
    return this.#names.has("*");
  }

  /** Takes a time in proportion to the name, however many stars there are. */
  matches(name: string): boolean {
    return this.#names.has(name) || this.#patterns.some((pattern) => fits(name, pattern));
  }
}

/** Parts that a name has to begin with, to have in this order, and to end with. */
interface Pattern {
  readonly start: string;
  readonly middle: readonly string[];
  readonly end: string;
}

function toPattern(text: string): Pattern {
  const parts = text.split("*");
  const [start, end] = [parts.shift() as string, parts.pop() as string];
  return { start, middle: parts.filter((part) => part !== ""), end };
}

/** The first place of each part leaves most for the next: no other place has to be tried. */
function fits(name: string, { start, middle, end }: Pattern): boolean {
  const last = name.length - end.length;
  if (!name.startsWith(start) || !name.endsWith(end)) return false;
  let at = start.length;
  for (const part of middle) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= last;
}

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
