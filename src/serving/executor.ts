import type { Logger } from "../observability/logger.ts";
import type { LoadingSettings } from "../platform/limits/settings/server-settings.ts";
import { type LoadOrder, LoadRun } from "./load-run.ts";
import { ModelMemory, type ModelMemoryOptions } from "./model-memory.ts";
import * as loads from "./plan/loads.ts";
import { type Action, type Event, plan, type Residence, step, type Use, wakeOf } from "./plan/residence.ts";
import { type Planned, Turns } from "./turns.ts";

/** A copy that the executor acts on; it answers with events. */
export interface Executed {
  /** As it is now. */
  readonly use: Use;
  /** Begins one action, without waiting for it. */
  act(action: Action): void;
}

/** Limits of all models together, and what tells of the machine's and the process's memory, by default these. */
interface ExecutorOptions extends Pick<ModelMemoryOptions, "free" | "used"> {
  readonly loading: Pick<LoadingSettings, "loadThreads" | "modelMemoryBytes" | "memoryCheck">;
  readonly log: Pick<Logger, "error">;
}

/**
 * Does what the plan says: it alone changes where copies and loads are, one action after the other, and plans again
 * after each of them, after each event, and when time is up.
 */
export class Executor {
  readonly #turns: Turns;
  readonly #places: Places;
  readonly #copies = new Map<Executed, PlannedCopy>();
  /** The books of the memory that models take. */
  readonly memory: ModelMemory;

  constructor({ loading, log, ...memory }: ExecutorOptions) {
    this.#turns = new Turns(log);
    this.#places = new Places(loading.loadThreads, this.#turns);
    const limits = { maxBytes: loading.modelMemoryBytes, isChecked: loading.memoryCheck };
    this.memory = new ModelMemory({ ...limits, ...memory }, this.#turns);
  }

  /** Takes charge of a copy that has been loaded. */
  adopt(copy: Executed): void {
    this.#copies.set(copy, new PlannedCopy(copy));
    this.look(copy);
  }

  /** Lets go of a copy; its later events count for nothing. */
  forget(copy: Executed): void {
    const known = this.#copies.get(copy);
    if (known === undefined) return;
    known.isForgotten = true;
    this.#copies.delete(copy);
    this.#turns.forget(known);
  }

  /** Notes what has happened to a copy, and acts on it before this returns, unless an action is just beginning. */
  tell(copy: Executed, event: Event): void {
    const known = this.#copies.get(copy);
    if (known === undefined) return;
    known.residence = step(known.residence, event, performance.now());
    this.#turns.take(known);
  }

  /** To be called when other times count for a copy. */
  look(copy: Executed): void {
    const known = this.#copies.get(copy);
    if (known !== undefined) this.#turns.take(known);
  }

  /** Begins a load, once the change that asks for it is whole. */
  load(order: LoadOrder): PlannedLoad {
    return new PlannedLoad(order, { turns: this.#turns, places: this.#places });
  }
}

class PlannedCopy implements Planned {
  readonly #copy: Executed;
  residence: Residence = { is: "resident" };
  isForgotten = false;

  constructor(copy: Executed) {
    this.#copy = copy;
  }

  /** Loads may wait for memory that is given back. */
  get isAwaited(): boolean {
    return this.residence.is === "parking";
  }

  follow(): number {
    while (!this.isForgotten) {
      const { use } = this.#copy;
      const now = performance.now();
      const action = plan(this.residence, use, now);
      if (action === undefined) return wakeOf(this.residence, use, now);
      this.residence = step(this.residence, action, now);
      this.#copy.act(action);
    }
    return Number.POSITIVE_INFINITY;
  }
}

/** The places of the loads that run at once, and those that wait for one, in their order. */
class Places {
  readonly #turns: Turns;
  readonly #queue = new Set<PlannedLoad>();
  #free: number;

  constructor(count: number, turns: Turns) {
    this.#free = count;
    this.#turns = turns;
  }

  isTurnOf(load: PlannedLoad): boolean {
    return this.#free > 0 && this.#first === load;
  }

  /** To be called after each change of a load, with what it was. */
  change(planned: PlannedLoad, before: loads.Load): void {
    const { load } = planned;
    this.#free += Number(loads.hasPlace(before)) - Number(loads.hasPlace(load));
    if (load.at.is === "queued") this.#queue.add(planned);
    else this.#queue.delete(planned);
    if (this.#first !== undefined && this.#free > 0) this.#turns.takeSoon(this.#first);
  }

  get #first(): PlannedLoad | undefined {
    for (const first of this.#queue) return first;
    return undefined;
  }
}

/** One load, from its order to its end. */
export class PlannedLoad implements Planned {
  readonly #on: { readonly turns: Turns; readonly places: Places };
  readonly #run: LoadRun;
  #load: loads.Load;

  constructor(order: LoadOrder, on: { readonly turns: Turns; readonly places: Places }) {
    this.#on = on;
    this.#load = loads.orderLoad(order.limits, order.isAtOnce);
    this.#run = new LoadRun(order, (event) => this.#tell(event));
    on.turns.takeSoon(this);
  }

  get load(): loads.Load {
    return this.#load;
  }

  /** As {@link LoadRun.result}. */
  get result(): LoadRun["result"] {
    return this.#run.result;
  }

  /** Lets it go on without a place, if it waits for one. */
  hurry(): void {
    this.#tell({ is: "hurried" });
  }

  /** True while its files are being loaded. */
  get isLoading(): boolean {
    return this.#load.at.is === "loading" || this.#load.at.is === "leaving";
  }

  get isAwaited(): boolean {
    return this.#load.at.is !== "over";
  }

  follow(): number {
    for (;;) {
      const now = performance.now();
      const facts = { ...this.#run.facts, hasTurn: this.#on.places.isTurnOf(this) };
      const action = loads.planLoad(this.#load, facts, now);
      if (action === undefined) return loads.loadWakeOf(this.#load);
      this.#become(loads.afterAction(this.#load, action, now));
      this.#run.act(action);
    }
  }

  #tell(event: loads.LoadEvent): void {
    this.#become(loads.afterEvent(this.#load, event));
    this.#on.turns.takeSoon(this);
  }

  #become(load: loads.Load): void {
    const before = this.#load;
    this.#load = load;
    this.#on.places.change(this, before);
  }
}
