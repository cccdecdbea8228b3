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
  mayBegin,
  planChange,
} from "./plan/changes.ts";
import type { LoadFacts } from "./plan/loads.ts";
import type { ServedCopy } from "./served-copy.ts";
import type { Planned, Turns } from "./turns.ts";

/** One decision on the state that a version of a model should reach. */
export class VersionTarget {
  /** The files to load; undefined = it should be unloaded. */
  aspired: AspiredVersion | undefined;
  /** Further attempts after a load has failed. */
  readonly retries: number;
  /** True if a loaded model may stay if only its hooks have changed. */
  readonly mayKeepModel: boolean;
  readonly #done = createDeferred<void>();
  #isSettled = false;
  #isInDoubt = false;

  constructor(aspired: AspiredVersion | undefined, { retries = 0, mayKeepModel = false } = {}) {
    this.aspired = aspired;
    this.retries = retries;
    this.mayKeepModel = mayKeepModel;
  }

  /** True once it is reached, or the first attempt has failed. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Resolves once it is reached; rejects when the first attempt fails. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  /** True once its servable may have other hooks: a change of them has begun, and may have been given up. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  doubt(): void {
    this.#isInDoubt = true;
  }

  reach(): void {
    this.#isSettled = true;
    this.#done.resolve();
  }

  fail(reason: unknown): void {
    this.#isSettled = true;
    this.#done.reject(reason);
  }

  /**
   * Makes those that wait for it wait for a later decision. A decision to unload rejects those that wait for a load.
   */
  follow(next: VersionTarget): void {
    if (this.aspired === undefined || next.aspired !== undefined) next.done.then(this.#done.resolve, this.#done.reject);
    else this.#done.reject(new ServingError("aborted", "The model was unloaded before it had loaded."));
  }
}

/** Facts about a version's change besides those about its targets. */
export interface OutsideFacts extends Pick<ChangeFacts, "isServed" | "isHeld" | "dependents"> {
  /** True while files are being loaded. */
  readonly isLoading: boolean;
}

/** The version that pursues its targets. It begins each step without waiting for it. */
interface Pursuer {
  readonly turns: Turns;
  readonly facts: () => OutsideFacts;
  /** Loads what a target is about; the signal aborts once that is not wanted any more. */
  load(target: VersionTarget, signal: AbortSignal): void;
  /** Lets nothing answer from now on. */
  retire(): void;
  /** Frees what answered before. */
  free(): void;
  /** Called once nothing is left of what a target was to end. */
  end(target: VersionTarget): void;
  /** Called once no change is left to make. */
  rest(): void;
}

/** Brings a version to the latest target that was set, as the plan of changes says. */
export class TargetPursuit implements Planned {
  readonly #on: Pursuer;
  #change: Change = { is: "none" };
  #target = new VersionTarget(undefined);
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

  /** True while a change is being made. */
  get isBusy(): boolean {
    return this.#change.is !== "none";
  }

  /** Requests end in what answered before. */
  get isAwaited(): boolean {
    return "until" in this.#change;
  }

  get isWatching(): boolean {
    return this.#change.is === "yielding" || this.#change.is === "outlasting";
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

  follow(): number {
    for (;;) {
      const now = performance.now();
      const action = planChange(this.#change, this.#facts, now);
      if (action === undefined) return changeWakeOf(this.#change);
      if (mayBegin(this.#change)) this.#begun = this.#target;
      this.#change = afterChangeAction(this.#change, action, now);
      this.#act(action);
      if (action.do === "yield") break;
    }
    // What is removed or replaced together with it is known then.
    this.lookSoon();
    return Number.POSITIVE_INFINITY;
  }

  #act(action: ChangeAction): void {
    if (action.do === "load") this.#load();
    else if (action.do === "give up") this.#givingUp.abort();
    else if (action.do === "retire") this.#on.retire();
    else if (action.do === "free") this.#on.free();
    else if (action.do === "end") this.#on.end(this.#begun);
    else if (action.do === "rest") this.#on.rest();
  }

  #load(): void {
    this.#givingUp = new AbortController();
    this.#on.load(this.#begun, this.#givingUp.signal);
  }

  get #facts(): ChangeFacts {
    const { isLoading, ...facts } = this.#on.facts();
    const [target, begun] = [this.#target, this.#begun];
    // Equal files may have changed since their load began, which is noticed after it.
    const mayLoadOn = isLoading && target.aspired?.fingerprint === begun.aspired?.fingerprint;
    return { ...facts, isNew: target !== begun, isWanted: target.aspired !== undefined, mayLoadOn };
  }
}

/** Facts of a load about the files that are loaded already. */
export function keptFacts(
  target: VersionTarget,
  loaded: VersionTarget | undefined,
  servable: ServedCopy | undefined,
): Pick<LoadFacts, "isServed" | "hooksAlone"> {
  if (!target.mayKeepModel || servable === undefined) return { isServed: false, hooksAlone: false };
  const isServed = loaded?.isInDoubt === false && target.aspired?.fingerprint === loaded.aspired?.fingerprint;
  const isSameModel = hasModelOf(target, loaded);
  return { isServed, hooksAlone: isSameModel && servable.isLoaded && servable.sources().length > 0 };
}

/** True if the files of two targets are known to differ in their hooks at most. */
export function hasModelOf({ aspired }: VersionTarget, other: VersionTarget | undefined): boolean {
  const print = aspired?.modelFingerprint;
  return print !== undefined && print === other?.aspired?.modelFingerprint;
}
