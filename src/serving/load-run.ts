import { createDeferred } from "../platform/async/promises.ts";
import type { LoadingSettings } from "../platform/limits/settings/server-settings.ts";
import type { AspiredVersion } from "./aspired-model.ts";
import * as loads from "./plan/loads.ts";
import type { Servable } from "./servable.ts";
import type { Planned, Turns } from "./turns.ts";

/** A load to be carried out, as its version knows it. */
export interface LoadOrder {
  /** As it is at the beginning of a try. */
  readonly version: () => AspiredVersion;
  readonly limits: loads.LoadLimits;
  /** Ends it, with its reason. */
  readonly signal: AbortSignal;
  /** True if it takes no place. */
  readonly isAtOnce?: boolean;
  /** As it is now; default: nothing has to be prepared, and its files are wanted. */
  readonly facts?: () => Partial<loads.LoadFacts>;
  readonly prepare?: (step: loads.Step, signal: AbortSignal) => Promise<void>;
  /** Told of each action before it is done. */
  readonly onAction?: (action: loads.LoadAction) => void;
}

/** Limits of a load of a version, by the settings of all. */
export function limitsOf(
  { version }: { readonly version: bigint },
  retries: number,
  { loadTimeoutMs: timeoutMs, loadRetryMs: maxPauseMs }: LoadingSettings,
): loads.LoadLimits {
  return { version, timeoutMs, retries, maxPauseMs };
}

const PLAIN = { kept: "nothing", hasNeeds: false, isFetched: false, isWanted: true } as const;

/** The places of the loads that run at once, and those that wait for one, in their order. */
export class LoadPlaces {
  readonly #turns: Turns;
  readonly #queue = new Set<LoadRun>();
  #free: number;

  constructor(count: number, turns: Turns) {
    this.#free = count;
    this.#turns = turns;
  }

  isTurnOf(run: LoadRun): boolean {
    return this.#free > 0 && this.#first === run;
  }

  /** To be called after each change of a load. */
  change(run: LoadRun, { from, to }: { readonly from: loads.Load; readonly to: loads.Load }): void {
    this.#free += Number(loads.hasPlace(from)) - Number(loads.hasPlace(to));
    if (to.at.is === "queued") this.#queue.add(run);
    else this.#queue.delete(run);
    if (this.#first !== undefined && this.#free > 0) this.#turns.takeSoon(this.#first);
  }

  get #first(): LoadRun | undefined {
    for (const first of this.#queue) return first;
    return undefined;
  }
}

/** One load as it is carried out, from its order to its end: it does as the plan says, and notes each event. */
export class LoadRun implements Planned {
  readonly #order: LoadOrder;
  readonly #turns: Turns;
  readonly #places: LoadPlaces;
  readonly #result = createDeferred<Servable | undefined>();
  #load: loads.Load;
  #servable: Servable | undefined;
  /** Ends the try that loads. */
  #givingUp = new AbortController();

  /** It begins once the change that asks for it is whole. */
  constructor(order: LoadOrder, on: { readonly turns: Turns; readonly places: LoadPlaces }) {
    this.#order = order;
    this.#turns = on.turns;
    this.#places = on.places;
    this.#load = loads.orderLoad(order.limits, order.isAtOnce);
    const { signal } = order;
    const cancel = () => this.#tell({ is: "cancelled", reason: signal.reason });
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel);
    const leave = () => signal.removeEventListener("abort", cancel);
    this.result.then(leave, leave);
    this.#turns.takeSoon(this);
  }

  /**
   * Resolves with what has been loaded, or with nothing if that serves already, or only its hooks had to be replaced;
   * rejects with the reason of the last try, or its signal's.
   */
  get result(): Promise<Servable | undefined> {
    return this.#result.promise;
  }

  /** True while its files are being loaded. */
  get isLoading(): boolean {
    return this.#load.at.is === "loading" || this.#load.at.is === "leaving";
  }

  get isAwaited(): boolean {
    return this.#load.at.is !== "over";
  }

  get isWatching(): boolean {
    return this.#load.at.is === "needing";
  }

  /** Lets it go on without a place, if it waits for one. */
  hurry(): void {
    this.#tell({ is: "hurried" });
  }

  follow(): number {
    for (;;) {
      const now = performance.now();
      const facts = { ...PLAIN, ...this.#order.facts?.(), hasTurn: this.#places.isTurnOf(this) };
      const action = loads.planLoad(this.#load, facts, now);
      if (action === undefined) return loads.loadWakeOf(this.#load);
      this.#become(loads.afterAction(this.#load, action, now));
      this.#act(action);
      if (action.do === "look for needs") break;
    }
    this.#turns.takeSoon(this);
    return Number.POSITIVE_INFINITY;
  }

  #tell(event: loads.LoadEvent): void {
    this.#become(loads.afterEvent(this.#load, event));
    this.#turns.takeSoon(this);
  }

  #become(load: loads.Load): void {
    const from = this.#load;
    this.#load = load;
    this.#places.change(this, { from, to: load });
  }

  #act(action: loads.LoadAction): void {
    try {
      this.#order.onAction?.(action);
    } finally {
      if (action.do === "prepare") void this.#prepare(action.step);
      else if (action.do === "load") void this.#loadFiles();
      else if (action.do === "give up") this.#givingUp.abort(action.reason);
      else if (action.do === "keep" || action.do === "serve") this.#result.resolve(this.#servable);
      else if (action.do === "end" || (action.do === "fail" && action.isLast)) this.#result.reject(action.reason);
    }
  }

  async #prepare(step: loads.Step): Promise<void> {
    const { prepare, signal } = this.#order;
    try {
      await prepare?.(step, signal);
      this.#tell({ is: "prepared" });
    } catch (reason) {
      this.#tell({ is: "failed", reason });
    }
  }

  async #loadFiles(): Promise<void> {
    this.#givingUp = new AbortController();
    const { signal } = this.#givingUp;
    try {
      const servable = await this.#order.version().load(signal);
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
}
