import { ServingError } from "../errors.ts";
import { createDeferred } from "../platform/async/promises.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import type { LoadFacts } from "./plan/loads.ts";
import type { ServedCopy } from "./served-copy.ts";

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

/** The changes that bring a version to a target. */
interface TargetSteps {
  load(target: VersionTarget, signal: AbortSignal): Promise<void>;
  unload(target: VersionTarget, signal: AbortSignal): Promise<void>;
  /** True while files are being loaded. */
  readonly isLoading: () => boolean;
  /** Called once no change is left to make. */
  onReached(): void;
}

/** Brings a version to the latest target that was set, one change at a time. */
export class TargetPursuit {
  readonly #steps: TargetSteps;
  #target = new VersionTarget(undefined);
  /** The last target that was reached or given up. */
  #done = this.#target;
  /** Ends the load of the present target, or the wait for it. */
  #abort = new AbortController();
  #isBusy = false;

  constructor(steps: TargetSteps) {
    this.#steps = steps;
    this.#target.reach();
  }

  /** The target that was set last. */
  get target(): VersionTarget {
    return this.#target;
  }

  /** True while a change is being made. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Sets the target; settles as that does. The pause between two attempts ends, and so does a load of other files. */
  aim(target: VersionTarget): Promise<void> {
    const old = this.#target;
    this.#target = target;
    old.follow(target);
    // Equal files may have changed since their load began, which is noticed after it.
    const isStale = target.aspired?.fingerprint !== old.aspired?.fingerprint;
    if (isStale || !this.#steps.isLoading()) this.#abort.abort();
    if (!this.#isBusy) void this.#approach();
    return target.done;
  }

  async #approach(): Promise<void> {
    this.#isBusy = true;
    while (this.#done !== this.#target) {
      const target = this.#target;
      this.#abort = new AbortController();
      const step = target.aspired === undefined ? this.#steps.unload : this.#steps.load;
      await step(target, this.#abort.signal);
      this.#done = target;
    }
    this.#isBusy = false;
    this.#steps.onReached();
  }
}

/** Facts of a load about the files that are loaded already. */
export function keptFacts(
  target: VersionTarget,
  loaded: VersionTarget | undefined,
  servable: ServedCopy | undefined,
): Pick<LoadFacts, "isServed" | "hooksAlone"> {
  const { aspired, mayKeepModel } = target;
  if (!mayKeepModel || servable === undefined) return { isServed: false, hooksAlone: false };
  const isServed = loaded?.isInDoubt === false && aspired?.fingerprint === loaded.aspired?.fingerprint;
  const print = aspired?.modelFingerprint;
  const isSameModel = print !== undefined && print === loaded?.aspired?.modelFingerprint;
  return { isServed, hooksAlone: isSameModel && servable.isLoaded && servable.sources().length > 0 };
}
