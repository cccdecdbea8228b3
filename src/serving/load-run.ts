import { createDeferred } from "../platform/async/promises.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import type { LoadAction, LoadEvent, LoadFacts, LoadLimits, Step } from "./plan/loads.ts";
import type { Servable } from "./servable.ts";

/** A load to be carried out, as its version knows it. */
export interface LoadOrder {
  readonly version: AspiredVersion;
  readonly limits: LoadLimits;
  /** Ends it, with its reason. */
  readonly signal: AbortSignal;
  /** True if it takes no place. */
  readonly isAtOnce?: boolean;
  /** As it is now; default: nothing has to be prepared, and its files are wanted. */
  readonly facts?: () => Partial<LoadFacts>;
  readonly prepare?: (step: Step, signal: AbortSignal) => Promise<void>;
  /** Called when its files begin to be loaded. */
  readonly onLoad?: () => void;
  /** Called after each try that fails. */
  readonly onFailure?: (reason: unknown, isTriedAgain: boolean) => void;
}

const PLAIN = { hooksAlone: false, hasNeeds: false, isFetched: false, isWanted: true };

/** One load as it is carried out: it does what the plan says, and tells what has happened. */
export class LoadRun {
  readonly order: LoadOrder;
  readonly #tell: (event: LoadEvent) => void;
  readonly #result = createDeferred<Servable | undefined>();
  #servable: Servable | undefined;
  /** Ends the try that loads. */
  #givingUp = new AbortController();

  constructor(order: LoadOrder, tell: (event: LoadEvent) => void) {
    this.order = order;
    this.#tell = tell;
    const { signal } = order;
    const cancel = () => tell({ is: "cancelled", reason: signal.reason });
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel);
    const leave = () => signal.removeEventListener("abort", cancel);
    this.result.then(leave, leave);
  }

  /**
   * Resolves with what has been loaded, or with nothing if only its hooks had to be replaced; rejects with the reason
   * of the last try, or its signal's.
   */
  get result(): Promise<Servable | undefined> {
    return this.#result.promise;
  }

  get facts(): Omit<LoadFacts, "hasTurn"> {
    return { ...PLAIN, ...this.order.facts?.() };
  }

  act(action: LoadAction): void {
    if (action.do === "prepare") void this.#prepare(action.step);
    else if (action.do === "load") void this.#load();
    else if (action.do === "give up") this.#givingUp.abort(action.reason);
    else if (action.do === "serve") this.#result.resolve(this.#servable);
    else if (action.do === "end") this.#result.reject(action.reason);
    else if (action.do === "fail") this.#fail(action);
  }

  async #prepare(step: Step): Promise<void> {
    const { prepare, signal } = this.order;
    try {
      await prepare?.(step, signal);
      this.#tell({ is: "prepared" });
    } catch (reason) {
      this.#tell({ is: "failed", reason });
    }
  }

  async #load(): Promise<void> {
    const { version, onLoad } = this.order;
    this.#givingUp = new AbortController();
    const { signal } = this.#givingUp;
    try {
      onLoad?.();
      const servable = await version.load(signal);
      if (!signal.aborted) {
        this.#servable = servable;
        return this.#tell({ is: "loaded" });
      }
      await servable.close();
    } catch (reason) {
      if (!signal.aborted) return this.#tell({ is: "failed", reason });
    }
    // One that came later than it was waited for says nothing of the next.
    if (this.#givingUp.signal === signal) this.#tell({ is: "ended" });
  }

  #fail({ reason, isTriedAgain, isLast }: Extract<LoadAction, { readonly do: "fail" }>): void {
    try {
      this.order.onFailure?.(reason, isTriedAgain);
    } finally {
      if (isLast) this.#result.reject(reason);
    }
  }
}
