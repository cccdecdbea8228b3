import type { Identity } from "../authentication/identity.ts";
import type { CallKind } from "../caller.ts";
import { NamePatterns } from "./name-patterns.ts";

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

  /** Models that a caller may name in calls of a kind; undefined where it may make none. */
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
