import { VersionTarget } from "./version-target.ts";

/** The changes that bring a version to a target. */
interface TargetSteps {
  load(target: VersionTarget, signal: AbortSignal): Promise<void>;
  unload(target: VersionTarget, signal: AbortSignal): Promise<void>;
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
  #isAttempting = false;
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
    if (isStale || !this.#isAttempting) this.#abort.abort();
    if (!this.#isBusy) void this.#approach();
    return target.done;
  }

  /** Runs one attempt to load. */
  async attempt<T>(load: () => Promise<T>): Promise<T> {
    this.#isAttempting = true;
    try {
      return await load();
    } finally {
      this.#isAttempting = false;
    }
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
