import { setTimeout as delay } from "node:timers/promises";
import { ServingError } from "../errors.ts";
import { type FreeMemory, freeMemory } from "../platform/limits/memory/free-memory.ts";
import { sizeText } from "../platform/text/size-text.ts";

/** A loaded model that may be unloaded to free its memory. */
export interface Unloadable {
  /** True if it is loaded and no request holds it. */
  readonly isIdle: boolean;
  /** Its last use, on the clock of performance.now(). */
  readonly lastUse: number;
  readonly memoryBytes: number;
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

/** Time that a load waits for models in use to become idle, in milliseconds. */
const WAIT_MS = 10_000;
/** The same while other loads run, whose models can be unloaded after them; the time begins again after each. */
const WAIT_FOR_LOADS_MS = 60_000;
/** Time between two checks for room while a load waits, in milliseconds. */
const RETRY_MS = 20;

/** Maximum ratio of the measured size to the estimate: requests and other work take memory meanwhile. */
const MAX_FACTOR = 4;
/** Smaller models are not measured: they are lost in the process's usual changes of memory. */
const MIN_MEASURED_BYTES = 32 * 1024 * 1024;

/**
 * Keeps the loaded models below a limit by unloading the least recently used ones, never one in use. An estimated size
 * is compared with the growth of the process during the load, if no other load ran meanwhile and the runtime was loaded
 * before; the greater value counts.
 */
export class ModelMemory {
  readonly #options: ModelMemoryOptions;
  readonly #maxBytes: number;
  readonly #unloadable = new Set<Unloadable>();
  /** Sizes of models that were loaded before, by name, with the estimates from their files, which may be too small. */
  readonly #measured = new Map<string, { readonly expected: number; readonly bytes: number }>();
  #bytes = 0;
  /** Running loads, and their total size. */
  readonly #loading = { count: 0, bytes: 0 };
  /** Number of loads that have begun. */
  #begun = 0;
  /** Names of the runtimes that have loaded a model. */
  readonly #runtimes = new Set<string>();
  /** End of the last load, on the clock of performance.now(). */
  #lastLoaded = 0;

  constructor(options: ModelMemoryOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes > 0 ? options.maxBytes : Number.POSITIVE_INFINITY;
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
   * if models in use leave no room for it within ten seconds.
   */
  async reserve({ what, bytes: expected, signal }: MemoryNeed): Promise<MemoryShare> {
    const bytes = Math.max(expected, this.#measuredFor(what, expected));
    if (bytes > this.#maxBytes) throw tooLarge(what, bytes, this.#maxBytes);
    const since = performance.now();
    for (;;) {
      const share = await this.#tryTake({ what, bytes }, expected);
      if (share !== undefined) return share;
      signal?.throwIfAborted();
      const waitMs = this.#loading.count > 0 ? WAIT_FOR_LOADS_MS : WAIT_MS;
      if (performance.now() - Math.max(since, this.#lastLoaded) > waitMs) throw allInUse(what, bytes, this.#maxBytes);
      if (!(await this.#makeRoom(bytes))) await delay(RETRY_MS, undefined, signal && { signal });
    }
  }

  /** The size of a model that was loaded before; less in proportion if its files have become smaller. */
  #measuredFor(what: string, expected: number): number {
    const before = this.#measured.get(what);
    if (before === undefined) return 0;
    return before.expected > expected ? (before.bytes * expected) / before.expected : before.bytes;
  }

  /**
   * Undefined while there is no room; throws `resource_exhausted` for a model that does not fit into the free memory.
   */
  async #tryTake({ what, bytes }: MemoryNeed, expected: number): Promise<MemoryShare | undefined> {
    const { isChecked, free = freeMemory } = this.#options;
    const left = isChecked ? await free() : undefined;
    if (this.#bytes + bytes > this.#maxBytes) return undefined;
    if (left === undefined || bytes <= left.bytes - this.#loading.bytes) return this.#take({ what, bytes }, expected);
    // The part of it that running loads have taken is not known.
    if (this.#loading.count > 0) return undefined;
    throw notFree(what, bytes, left);
  }

  /** Unloads the least recently used models until there is room; false, and unloads none, if that is not enough. */
  async #makeRoom(bytes: number): Promise<boolean> {
    const idle = [...this.#unloadable].filter(({ isIdle }) => isIdle).sort((a, b) => a.lastUse - b.lastUse);
    let lacking = this.#bytes + bytes - this.#maxBytes;
    if (lacking <= 0 || idle.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) < lacking) return false;
    const unloading: Promise<void>[] = [];
    for (const one of idle) {
      if (lacking <= 0) break;
      lacking -= one.memoryBytes;
      unloading.push(one.unload("others need its memory"));
    }
    await Promise.all(unloading);
    return true;
  }

  /** Starts the measurement of a load; returns a function of the estimate that gives the size that counts. */
  #measure(): (estimate: number, runtimes: readonly string[]) => number {
    const { used = ofThisProcess } = this.#options;
    const number = ++this.#begun;
    const before = this.#loading.count === 0 ? used() : undefined;
    return (estimate, runtimes) => {
      const isFirst = runtimes.some((name) => !this.#runtimes.has(name));
      for (const name of runtimes) this.#runtimes.add(name);
      if (before === undefined || number !== this.#begun || isFirst || estimate < MIN_MEASURED_BYTES) return estimate;
      return Math.max(estimate, Math.min(used() - before, MAX_FACTOR * estimate));
    };
  }

  #take({ what, bytes }: MemoryNeed, expected: number): MemoryShare {
    const measured = this.#measure();
    this.#bytes += bytes;
    this.#loading.count++;
    this.#loading.bytes += bytes;
    let [held, isLoading] = [bytes, true];
    const endLoading = () => {
      if (!isLoading) return;
      isLoading = false;
      this.#lastLoaded = performance.now();
      this.#loading.count--;
      this.#loading.bytes -= bytes;
    };
    const resize = (to: number) => {
      this.#bytes += to - held;
      held = to;
    };
    return {
      loaded: async (size, runtimes) => {
        const now = runtimes === undefined ? size : measured(size, runtimes);
        endLoading();
        resize(now);
        if (now > this.#maxBytes) throw tooLarge(what, now, this.#maxBytes);
        this.#measured.set(what, { expected, bytes: now });
        if (this.#bytes > this.#maxBytes) await this.#makeRoom(0);
        return now;
      },
      release: () => {
        endLoading();
        resize(0);
      },
    };
  }
}

function ofThisProcess(): number {
  return process.memoryUsage.rss();
}

function tooLarge(what: string, bytes: number, maxBytes: number): ServingError {
  return exhausted(
    `${what} needs about ${sizeText(bytes)}, and all models together may have ${sizeText(maxBytes)} (--model-memory); raise that, or serve a smaller model.`,
  );
}

function allInUse(what: string, bytes: number, maxBytes: number): ServingError {
  return exhausted(
    `${what} needs about ${sizeText(bytes)}, and the models that are in use leave less of ${sizeText(maxBytes)} (--model-memory); try again later, or raise that.`,
  );
}

function notFree(what: string, bytes: number, { bytes: left, of }: FreeMemory): ServingError {
  return exhausted(
    `${what} needs about ${sizeText(bytes)}, and ${of} has ${sizeText(left)} free; give it more memory, serve less, let --model-memory unload what is idle, or try all the same with --memory-check=false.`,
  );
}

function exhausted(message: string): ServingError {
  return new ServingError("resource_exhausted", message);
}
