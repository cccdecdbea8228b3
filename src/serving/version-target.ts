import { ServingError } from "../errors.ts";
import { createDeferred } from "../platform/async/promises.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import {
  afterChangeAction,
  afterChangeEvent,
  type Change,
  type ChangeAction,
  type ChangeEvent,
  type ChangeFacts,
  changeWakeOf,
  type HooksAction,
  type HooksFacts,
  type HooksWish,
  haveSameModel,
  isGivenUp,
  type Kept,
  keptOf,
  planChange,
  planHooks,
} from "./plan/changes.ts";
import type { ServedCopy } from "./served-copy.ts";
import type { Planned, Turns } from "./turns.ts";

/** One decision on the state that a version of a model should reach. */
export class VersionTarget {
  /** The files to load; undefined = it should be unloaded. */
  aspired: AspiredVersion | undefined;
  /** Further attempts after a load has failed. */
  readonly retries: number;
  /** True if they are loaded also where they serve already. */
  readonly isOrdered: boolean;
  readonly #done = createDeferred<void>();
  #isSettled = false;
  /** True once its servable may have other hooks: a change of them has begun, and may have been given up. */
  isInDoubt = false;

  constructor(aspired: AspiredVersion | undefined, { retries = 0, isOrdered = false } = {}) {
    this.aspired = aspired;
    this.retries = retries;
    this.isOrdered = isOrdered;
  }

  /** True once it is reached, or the first attempt has failed. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Resolves once it is reached; rejects when the first attempt fails. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  reach(): void {
    this.#isSettled = true;
    this.#done.resolve();
  }

  fail(reason: unknown): void {
    this.#isSettled = true;
    this.#done.reject(reason);
  }

  /** Makes those that wait for it wait for a later decision, unless its load is given up. */
  follow(next: VersionTarget): void {
    if (!isGivenUp(this.aspired, next.aspired)) next.done.then(this.#done.resolve, this.#done.reject);
    else this.#done.reject(new ServingError("aborted", "The model was unloaded before it had loaded."));
  }
}

/** The version that pursues its targets. */
interface Pursuer {
  readonly turns: Turns;
  /** Those that are not about its targets. */
  readonly facts: () => Omit<ChangeFacts, "isNew" | "wanted" | "begun" | "dependents">;
  readonly dependents: () => ChangeFacts["dependents"];
  /** The copy that answers, and the last time at which its hooks began to be read. */
  readonly hooks: () => { readonly copy: ServedCopy | undefined; readonly readAt: number };
  /** Begins an action for a target; the signal of a load aborts once it is given up. */
  act(action: ChangeAction, target: VersionTarget, signal: AbortSignal): void;
  /** Ends a wish for other hooks; throws the reason if they are refused. */
  endHooks(action: HooksAction): void;
}

/** The copy that gets other hooks, and the target as they began to be read. */
interface Replaced {
  readonly copy: ServedCopy;
  readonly target: VersionTarget;
}

/** Brings a version to the latest target that was set, as the plan of changes says. */
export class TargetPursuit implements Planned {
  readonly #on: Pursuer;
  #change: Change = { is: "none" };
  #target = new VersionTarget(undefined);
  /** The target whose files are those of what answers, or did last. */
  loaded: VersionTarget | undefined;
  /** The target that the change is for, or the last one was. */
  #begun = this.#target;
  /** Ends its load. */
  #givingUp = new AbortController();

  constructor(pursuer: Pursuer) {
    this.#on = pursuer;
    this.#target.reach();
  }

  /** The target that was set last. */
  get target(): VersionTarget {
    return this.#target;
  }

  /** True once the target is reached, or the first attempt has failed, and is not about to be set again. */
  get isSettled(): boolean {
    return this.#target.isSettled && planChange(this.#change, this.#facts, performance.now())?.do !== "renew";
  }

  /** Requests end in what answered before. */
  get isAwaited(): boolean {
    return "until" in this.#change;
  }

  get isWatching(): boolean {
    const { is } = this.#change;
    const needs = this.#target.aspired === undefined ? [] : (this.loaded?.aspired?.needs ?? []);
    return is === "yielding" || is === "outlasting" || (is === "none" && needs.length > 0);
  }

  /** Sets the target; settles as that does. */
  aim(target: VersionTarget): Promise<void> {
    this.#target.follow(target);
    this.#target = target;
    this.#on.turns.take(this);
    return target.done;
  }

  /** Notes what has happened, and acts on it. */
  tell(event: ChangeEvent): void {
    this.#change = afterChangeEvent(this.#change, event, performance.now());
    this.#on.turns.take(this);
  }

  /** To be called when what answered before may be held no more. */
  lookSoon(): void {
    this.#on.turns.takeSoon(this);
  }

  /** Has the hooks of what answers read again, unless they were after `since`; settles as that does. */
  async renewHooks(since: number): Promise<void> {
    let wish: HooksWish = { is: "asked", since };
    for (let replaced: Replaced | undefined; ; ) {
      const action = planHooks(wish, this.#hooksFacts(replaced), performance.now());
      if (action?.do === "await the load") await this.#target.done;
      else if (action?.do === "replace") {
        const copy = this.#on.hooks().copy as ServedCopy;
        replaced = { copy, target: this.#target };
        // They may differ from those of its files, and other files may be wanted before they are there.
        if (this.loaded !== undefined) this.loaded.isInDoubt = true;
        wish = await copy.reload().then(
          () => ({ is: "replaced" }) as const,
          (reason) => ({ is: "failed", reason }) as const,
        );
      } else return action && this.#on.endHooks(action);
    }
  }

  #hooksFacts(replaced: Replaced | undefined): HooksFacts {
    const { copy, readAt } = this.#on.hooks();
    const [target, loaded] = [this.#target, this.loaded];
    const isSame = copy === replaced?.copy && target === replaced?.target;
    return {
      isLoading: !target.isSettled,
      ...{ readAt, hasFile: copy !== undefined && copy.sources().length > 0 },
      isCurrent: isSame && (target === loaded || haveSameModel(target.aspired, loaded?.aspired)),
    };
  }

  follow(): number {
    for (;;) {
      const now = performance.now();
      const action = planChange(this.#change, this.#facts, now);
      if (action === undefined) return changeWakeOf(this.#change);
      if (this.#change.is === "none") this.#begun = this.#target;
      this.#change = afterChangeAction(this.#change, action, now);
      if (action.do === "load") this.#givingUp = new AbortController();
      if (action.do === "give up") this.#givingUp.abort();
      this.#on.act(action, this.#begun, this.#givingUp.signal);
      if (action.do === "yield") break;
    }
    // What is removed or replaced together with it is known then.
    this.lookSoon();
    return Number.POSITIVE_INFINITY;
  }

  get #facts(): ChangeFacts {
    const [target, begun, on] = [this.#target, this.#begun, this.#on];
    return {
      ...on.facts(),
      ...{ isNew: target !== begun, wanted: target.aspired, begun: begun.aspired },
      get dependents() {
        return on.dependents();
      },
    };
  }
}

/** The part of a copy that stays under a target's files. */
export function keptUnder(
  { aspired: wanted, isOrdered }: VersionTarget,
  loaded: VersionTarget | undefined,
  copy: ServedCopy | undefined,
): Kept {
  const hasHooks = copy?.isLoaded === true && copy.sources().length > 0;
  return keptOf({
    wanted,
    served: copy && loaded?.aspired,
    isOrdered,
    isInDoubt: loaded?.isInDoubt === true,
    hasHooks,
  });
}
