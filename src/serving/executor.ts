import type { Logger } from "../observability/logger.ts";
import type { LoadingSettings } from "../platform/limits/settings/server-settings.ts";
import { type LoadOrder, LoadPlaces, LoadRun } from "./load-run.ts";
import { ModelMemory, type ModelMemoryOptions } from "./model-memory.ts";
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
  /** Lets each act that does as a plan says. */
  readonly turns: Turns;
  readonly #places: LoadPlaces;
  readonly #copies = new Map<Executed, PlannedCopy>();
  /** The books of the memory that models take. */
  readonly memory: ModelMemory;

  constructor({ loading, log, ...memory }: ExecutorOptions) {
    this.turns = new Turns(log);
    this.#places = new LoadPlaces(loading.loadThreads, this.turns);
    const limits = { maxBytes: loading.modelMemoryBytes, isChecked: loading.memoryCheck };
    this.memory = new ModelMemory({ ...limits, ...memory }, this.turns);
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
    this.turns.forget(known);
  }

  /** Notes what has happened to a copy, and acts on it before this returns, unless an action is just beginning. */
  tell(copy: Executed, event: Event): void {
    const known = this.#copies.get(copy);
    if (known === undefined) return;
    known.residence = step(known.residence, event, performance.now());
    this.turns.take(known);
  }

  /** To be called when other times count for a copy. */
  look(copy: Executed): void {
    const known = this.#copies.get(copy);
    if (known !== undefined) this.turns.take(known);
  }

  /** Begins a load, once the change that asks for it is whole. */
  load(order: LoadOrder): LoadRun {
    return new LoadRun(order, { turns: this.turns, places: this.#places });
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
