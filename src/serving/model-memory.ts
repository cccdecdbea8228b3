import { createDeferred, type Deferred } from "../platform/async/promises.ts";
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
  roomWakeOf,
  tooLarge,
} from "./plan/memory.ts";
import type { Planned, Turns } from "./turns.ts";

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
  readonly free?: () => FreeMemory | undefined;
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

/** A load that waits for room. */
interface Waiting extends MemoryDemand {
  /** The estimate from its files. */
  readonly expected: number;
  readonly share: Deferred<MemoryShare>;
  again: number;
}

/** Time after which copies are chosen again that gave no memory, in milliseconds. */
const AGAIN_MS = 1000;

/**
 * Keeps the loaded models below a limit by unloading the least recently used ones, never one in use: the rows R of the
 * plan say when. It plans again after each change of its books, when copies become idle, and when time is up. An
 * estimated size is compared with the growth of the process during the load, if no other load ran meanwhile and the
 * runtime was loaded before; the greater value counts.
 */
export class ModelMemory implements Planned {
  readonly #options: ModelMemoryOptions;
  readonly #turns: Turns;
  #book: MemoryBook;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  readonly #unloadable = new Set<Unloadable>();
  /** Copies that were chosen for a load, until they are gone, with the bytes that they had then. */
  readonly #leaving = new Map<Unloadable, number>();
  /** Sizes of models that were loaded before, by name. */
  readonly #known = new Map<string, KnownSize>();
  /** Number of loads that have begun. */
  #begun = 0;
  /** Names of the runtimes that have loaded a model. */
  readonly #runtimes = new Set<string>();

  constructor(options: ModelMemoryOptions, turns: Turns) {
    this.#options = options;
    this.#turns = turns;
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
    signal?.throwIfAborted();
    const bytes = reservedSize(expected, this.#known.get(what));
    const share = createDeferred<MemoryShare>();
    const waiting = { what, bytes, expected, since: performance.now(), share, again: 0 };
    const leave = () => {
      this.#waiting.delete(waiting);
      // It may have been the last that was awaited.
      this.#turns.takeSoon(this);
      share.reject(signal?.reason);
    };
    signal?.addEventListener("abort", leave);
    this.#waiting.add(waiting);
    this.changed();
    try {
      return await share.promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** To be called once copies may have become idle. */
  changed(): void {
    if (this.#waiting.size > 0) this.#turns.takeSoon(this);
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  follow(): number {
    let wake = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) wake = Math.min(wake, this.#serveOrFail(waiting));
    return wake;
  }

  /** Plans a load; a reading that fails, as of this process's memory, ends that load, and none waits for ever. */
  #serveOrFail(waiting: Waiting): number {
    try {
      return this.#serve(waiting);
    } catch (reason) {
      this.#waiting.delete(waiting);
      waiting.share.reject(reason);
      return Number.POSITIVE_INFINITY;
    }
  }

  /** Does what the plan says for one load; returns the time at which it has to be planned again without an event. */
  #serve(waiting: Waiting): number {
    const { isChecked, free = freeMemory } = this.#options;
    const action = this.#plan(waiting, isChecked ? free() : undefined);
    if (action === undefined || action.do === "wait") return roomWakeOf(waiting, this.#book, performance.now());
    if (action.do === "park") {
      void this.#makeRoom(waiting, action.copies);
      return Number.POSITIVE_INFINITY;
    }
    this.#waiting.delete(waiting);
    if (action.do === "refuse") waiting.share.reject(action.error);
    else waiting.share.resolve(this.#take(waiting));
    return Number.POSITIVE_INFINITY;
  }

  async #makeRoom(waiting: Waiting, copies: readonly Unloadable[]): Promise<void> {
    const book = this.#book;
    waiting.again = Number.POSITIVE_INFINITY;
    await this.#unload(copies);
    waiting.again = this.#book === book ? performance.now() + AGAIN_MS : 0;
    this.changed();
  }

  async #unload(copies: readonly Unloadable[]): Promise<void> {
    for (const one of copies) this.#leaving.set(one, one.memoryBytes);
    // Copies leave one after the other, once this turn is over.
    await Promise.resolve();
    const unload = async (one: Unloadable) => {
      try {
        await one.unload("others need its memory");
      } finally {
        this.#leaving.delete(one);
        this.changed();
      }
    };
    await Promise.all(copies.map(unload));
  }

  #plan(need: MemoryDemand, free?: FreeMemory): RoomAction<Unloadable> | undefined {
    const isLimited = Number.isFinite(this.#book.maxBytes);
    const idle = isLimited ? [...this.#unloadable].filter((one) => one.isIdle && !this.#leaving.has(one)) : [];
    return planRoom({ need, book: this.#book, idle, promisedBytes: this.#promisedBytes, free, now: performance.now() });
  }

  /** Bytes that loads need for which copies are on their way, less those of these copies. */
  get #promisedBytes(): number {
    let bytes = 0;
    for (const { again, bytes: needed } of this.#waiting) if (again === Number.POSITIVE_INFINITY) bytes += needed;
    for (const leaving of this.#leaving.values()) bytes -= leaving;
    return bytes;
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

  #take({ what, bytes, expected }: Waiting): MemoryShare {
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
        if (action?.do === "park") await this.#unload(action.copies);
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
    this.changed();
  }
}

function ofThisProcess(): number {
  return process.memoryUsage.rss();
}
