import { setTimeout as delay } from "node:timers/promises";
import { type FreeMemory, freeMemory } from "../platform/limits/memory/free-memory.ts";
import {
  type IdleCopy,
  type KnownSize,
  type MemoryBook,
  type MemoryDemand,
  measuredSize,
  planRoom,
  type RoomAction,
  reservedSize,
  tooLarge,
} from "./plan/memory.ts";

/** A loaded model that may be unloaded to free its memory. */
export interface Unloadable extends IdleCopy {
  /** True if it is loaded and no request holds it. */
  readonly isIdle: boolean;
  /** Unloads it; resolves once its memory is free. */
  unload(why: string): Promise<void>;
}

/** Limits of the memory of models. */
export interface ModelMemoryOptions {
  /** Maximum total size of the loaded models, in bytes; 0 = no limit. */
  readonly maxBytes: number;
  /** Refuses to load models that do not fit into the free memory. */
  readonly isChecked: boolean;
  /** Reads the size of the free memory; undefined if that is not known. */
  readonly free?: () => Promise<FreeMemory | undefined>;
  /** Reads the memory use of this process. */
  readonly used?: () => number;
}

/** Memory reserved for one model, estimated or measured. */
export interface MemoryShare {
  /**
   * To be called once it is loaded, with its present size; resolves with the size that counts. Throws
   * `resource_exhausted` if that is above the limit of all. With `runtimes`, `bytes` are an estimate only: see
   * {@link ModelMemory}.
   */
  loaded(bytes: number, runtimes?: readonly string[]): Promise<number>;
  /** To be called once it is freed, or has failed to load. */
  release(): void;
}

/** A model that is to be loaded. */
export interface MemoryNeed {
  /** Its name, to begin a sentence. */
  readonly what: string;
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Time between two checks for room while a load waits, in milliseconds. */
const RETRY_MS = 20;

/**
 * Keeps the loaded models below a limit by unloading the least recently used ones, never one in use: the rows R of the
 * plan say when. An estimated size is compared with the growth of the process during the load, if no other load ran
 * meanwhile and the runtime was loaded before; the greater value counts.
 */
export class ModelMemory {
  readonly #options: ModelMemoryOptions;
  #book: MemoryBook;
  readonly #unloadable = new Set<Unloadable>();
  /** Sizes of models that were loaded before, by name. */
  readonly #known = new Map<string, KnownSize>();
  /** Number of loads that have begun. */
  #begun = 0;
  /** Names of the runtimes that have loaded a model. */
  readonly #runtimes = new Set<string>();

  constructor(options: ModelMemoryOptions) {
    this.#options = options;
    const maxBytes = options.maxBytes > 0 ? options.maxBytes : Number.POSITIVE_INFINITY;
    this.#book = { maxBytes, usedBytes: 0, loads: 0, loadingBytes: 0, lastLoad: 0 };
  }

  /** Adds a model that may be unloaded to make room. */
  add(one: Unloadable): void {
    this.#unloadable.add(one);
  }

  delete(one: Unloadable): void {
    this.#unloadable.delete(one);
  }

  /**
   * Makes room for a model, and reserves it. Rejects with `resource_exhausted` if the model does not fit at all, or
   * if models in use leave no room for it in time.
   */
  async reserve({ what, bytes: expected, signal }: MemoryNeed): Promise<MemoryShare> {
    const { isChecked, free: readFree = freeMemory } = this.#options;
    const bytes = reservedSize(expected, this.#known.get(what));
    const need = { what, bytes, since: performance.now() };
    for (;;) {
      const free = isChecked ? await readFree() : undefined;
      signal?.throwIfAborted();
      const book = this.#book;
      const action = this.#plan(need, free);
      if (action?.do === "take") return this.#take(need, expected);
      if (action?.do === "refuse") throw action.error;
      if (action?.do === "park") await unloadAll(action.copies);
      // Also after copies that gave nothing: what would give it may need a timer.
      if (this.#book === book) await delay(RETRY_MS, undefined, signal && { signal });
    }
  }

  #plan(need: MemoryDemand, free?: FreeMemory): RoomAction<Unloadable> | undefined {
    const isLimited = Number.isFinite(this.#book.maxBytes);
    const idle = isLimited ? [...this.#unloadable].filter(({ isIdle }) => isIdle) : [];
    return planRoom({ need, book: this.#book, idle, free, now: performance.now() });
  }

  /** Starts the measurement of a load; returns a function of the estimate that gives the size that counts. */
  #measure(): (estimate: number, runtimes: readonly string[]) => number {
    const { used = ofThisProcess } = this.#options;
    const number = ++this.#begun;
    const before = this.#book.loads === 0 ? used() : undefined;
    return (estimate, runtimes) => {
      const isFirst = runtimes.some((name) => !this.#runtimes.has(name));
      for (const name of runtimes) this.#runtimes.add(name);
      const isAlone = before !== undefined && number === this.#begun && !isFirst;
      return measuredSize(estimate, isAlone ? used() - before : undefined);
    };
  }

  #take({ what, bytes }: MemoryDemand, expected: number): MemoryShare {
    const measured = this.#measure();
    this.#add({ usedBytes: bytes, loads: 1, loadingBytes: bytes });
    let [held, isLoading] = [bytes, true];
    const endLoading = () => {
      if (!isLoading) return;
      isLoading = false;
      this.#add({ loads: -1, loadingBytes: -bytes });
      this.#book = { ...this.#book, lastLoad: performance.now() };
    };
    const resize = (to: number) => {
      this.#add({ usedBytes: to - held });
      held = to;
    };
    return {
      loaded: async (size, runtimes) => {
        const now = runtimes === undefined ? size : measured(size, runtimes);
        endLoading();
        resize(now);
        if (now > this.#book.maxBytes) throw tooLarge({ what, bytes: now }, this.#book);
        this.#known.set(what, { expected, bytes: now });
        const action = this.#plan({ what, bytes: 0, since: this.#book.lastLoad });
        if (action?.do === "park") await unloadAll(action.copies);
        return now;
      },
      release: () => {
        endLoading();
        resize(0);
      },
    };
  }

  #add({ usedBytes = 0, loads = 0, loadingBytes = 0 }: Partial<MemoryBook>): void {
    const { usedBytes: used, loads: count, loadingBytes: loading, ...other } = this.#book;
    this.#book = { ...other, usedBytes: used + usedBytes, loads: count + loads, loadingBytes: loading + loadingBytes };
  }
}

function unloadAll(copies: readonly Unloadable[]): Promise<unknown> {
  return Promise.all(copies.map((one) => one.unload("others need its memory")));
}

function ofThisProcess(): number {
  return process.memoryUsage.rss();
}
