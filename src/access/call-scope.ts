import { AsyncLocalStorage } from "node:async_hooks";
import { ServingError } from "../errors.ts";
import type { Identity } from "./authentication/identity.ts";
import type { CallKind } from "./caller.ts";
import type { AccessRules, NamePatterns, Permission } from "./rules/access-rules.ts";

/** A caller that has been let in: its name, and what it may do. */
export class CallScope {
  /** Absent = a call of a kind that needs no name. */
  #identity: Identity | undefined;
  #rules: AccessRules;
  readonly #kind: CallKind;
  #until: number | undefined;
  /** The models that the call has named; an anonymous one may know of no others. */
  readonly #named = new Set<string>();

  /** `until`: milliseconds since the epoch after which the caller has to be asked about again. */
  constructor(kind: CallKind, rules: AccessRules, identity: Identity | undefined, until?: number) {
    this.#kind = kind;
    this.#rules = rules;
    this.#identity = identity;
    this.#until = until;
  }

  /** True once the caller has to be asked about again. */
  get isDue(): boolean {
    return this.#until !== undefined && Date.now() >= this.#until;
  }

  /** Has the caller asked about again, as if its credentials had expired. */
  expire(): void {
    this.#until = 0;
  }

  /**
   * Counts by what a later look has found, for the rest of a call that lasts. Throws `permission_denied` for a model
   * that the call has named, and may name no longer, and where it might name any and may name some alone by now.
   */
  adopt(later: CallScope): void {
    const namedAny = this.isWhole || this.#named.size === MAX_NAMED;
    this.#identity = later.#identity;
    this.#rules = later.#rules;
    this.#until = later.#until;
    if (namedAny && !this.isWhole) throw denied(`${this.#who} may name some models alone by now`);
    for (const model of this.#named) this.assertModel(model);
  }

  /** The caller's name for the log; empty = it needs none. */
  get user(): string {
    return this.#identity?.names[0] ?? "";
  }

  /** Throws `permission_denied` for a kind of call that the caller may not make at all. */
  assertKind(kind: CallKind): void {
    if (this.#rules.isOpen(kind) || this.#modelsFor(kind) !== undefined) return;
    throw denied(`${this.#who} may not ${DEEDS[kind]} here`);
  }

  /** True if the call may name any model. */
  get isWhole(): boolean {
    if (this.#identity === undefined) return this.#kind !== "health";
    return this.#rules.isOpen(this.#kind) || this.#modelsFor(this.#kind)?.isEvery === true;
  }

  /** Checks that the call may know of a model. */
  knows(model: string): boolean {
    if (this.#identity === undefined) return this.isWhole || this.#named.has(model);
    return this.isWhole || this.#modelsFor(this.#kind)?.matches(model) === true;
  }

  /** Checks that the caller may learn of a model, by this call or another kind. */
  hears(model: string): boolean {
    const isNamed = (kind: CallKind) => this.#rules.isOpen(kind) || this.#modelsFor(kind)?.matches(model) === true;
    return this.knows(model) || NAMING.some(isNamed);
  }

  /** Throws `permission_denied` for a model that the call may not name. */
  assertModel(model: string): void {
    const isKnown = this.#identity === undefined || this.knows(model);
    if (!isKnown) throw denied(`${this.#who} may not ${MODEL_DEEDS[this.#kind]} "${model}"`);
    if (this.#named.size < MAX_NAMED && model.length <= MAX_NAME_LENGTH) this.#named.add(model);
  }

  /** True if the priority of the caller's requests to a model counts before other clients' turns. */
  mayGoFirst(model: string): boolean {
    return this.#modelsFor("priority")?.matches(model) === true;
  }

  /** Throws `permission_denied` if the caller may change some models alone. */
  assertControlsAll(): void {
    if (this.#modelsFor("control")?.isEvery === true) return;
    throw denied(`${this.#who} may change some models alone, and this call changes the whole server`);
  }

  get #who(): string {
    return this.user || "A caller without a name";
  }

  #modelsFor(kind: Permission): NamePatterns | undefined {
    return this.#identity && this.#rules.modelsFor(this.#identity, kind);
  }
}

/** Models that a call may name and be asked about one by one. */
const MAX_NAMED = 1000;
/** Characters of a name that may be a model's. */
const MAX_NAME_LENGTH = 1024;

/** Kinds of calls that name models, and say which there are. */
const NAMING: readonly CallKind[] = ["inference", "read", "control"];

const DEEDS: Readonly<Record<CallKind, string>> = {
  inference: "run models",
  read: "read about this server",
  control: "change this server",
  metrics: "read metrics",
  health: "ask for health",
  page: "open the page",
};

const MODEL_DEEDS: Readonly<Record<CallKind, string>> = {
  inference: "run the model",
  read: "ask about the model",
  control: "change the model",
  metrics: "read metrics of the model",
  health: "ask for health of the model",
  page: "open the page of the model",
};

function denied(problem: string): ServingError {
  return new ServingError("permission_denied", `${problem}; a rule of --auth-rules can allow it.`);
}

const scopes = new AsyncLocalStorage<CallScope>();

/** Runs a call that was let in; what it asks of models is checked by its scope. */
export function runInScope<Result>(scope: CallScope, run: () => Result): Result {
  return scopes.run(scope, run);
}

/** The scope of the call that is being answered; undefined if callers need no name. */
export function currentScope(): CallScope | undefined {
  return scopes.getStore();
}
