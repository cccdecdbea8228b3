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
