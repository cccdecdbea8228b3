import { setTimeout as delay } from "node:timers/promises";
import { ServingError } from "../errors.ts";
import { type FreeMemory, freeMemory } from "../limits/free-memory.ts";
import { sizeText } from "../text/size-text.ts";

/** Something loaded that may give its memory back. */
export interface Unloadable {
  /** True where it is loaded and no request holds it. */
  readonly isIdle: boolean;
  /** Its last use, on the clock of performance.now(). */
  readonly lastUse: number;
  readonly memoryBytes: number;
  /** Resolves once its memory is free. */
  unload(why: string): Promise<void>;
}

/** Limits of the memory of models. */
export interface ModelMemoryOptions {
  /** Bytes of all that is loaded together; 0 = no limit. */
  readonly maxBytes: number;
  /** Refuses to load what does not fit into the memory that is free. */
  readonly isChecked: boolean;
  /** The memory that is free; undefined where that is not known. */
  readonly free?: () => Promise<FreeMemory | undefined>;
  /** The memory of this process. */
  readonly used?: () => number;
}

/** Memory that one model is expected to take, or takes. */
export interface MemoryShare {
  /**
   * To be called once it is loaded, with what it takes now; resolves with what it counts as. Throws `resource_exhausted` where that is more
   * than all may have. With `runtimes`, `bytes` are an estimate only: see {@link ModelMemory}.
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

/** Milliseconds that a load waits for models that are in use. */
const WAIT_MS = 10_000;
/** The same while others load, which can be unloaded once they have: after each of them it begins anew. */
const WAIT_FOR_LOADS_MS = 60_000;
/** Milliseconds between two looks for room while one waits. */
const LOOK_MS = 20;

/** A measured size counts up to so many times the estimate: requests and other work take memory meanwhile. */
const MAX_FACTOR = 4;
/** Smaller models are lost in what the process takes and gives back at any time. */
const MIN_MEASURED_BYTES = 32 * 1024 * 1024;

/**
 * Keeps what is loaded below a limit, by unloading what has not been used for longest, and never what is in use. Where a size is an estimate
 * it is compared with what the process takes more after the load than before, if nothing else was loaded meanwhile and the runtime was
 * there before; the greater one counts.
 */
export class ModelMemory {
  readonly #options: ModelMemoryOptions;
  readonly #maxBytes: number;
  readonly #unloadable = new Set<Unloadable>();
  /** Sizes of what was loaded before, by its name: what its files say may be less. */
  readonly #measured = new Map<string, number>();
  #bytes = 0;
  /** Loads under way, and what they take together. */
  readonly #loading = { count: 0, bytes: 0 };
  /** Number of loads that have begun. */
  #begun = 0;
  /** Names of the runtimes that have loaded something. */
  readonly #runtimes = new Set<string>();
  /** End of the last load, on the clock of performance.now(). */
  #lastLoaded = 0;

  constructor(options: ModelMemoryOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes > 0 ? options.maxBytes : Number.POSITIVE_INFINITY;
  }

  /** Lets something be unloaded to make room. */
  add(one: Unloadable): void {
    this.#unloadable.add(one);
  }

  delete(one: Unloadable): void {
    this.#unloadable.delete(one);
  }

  /**
   * Makes room for a model, and keeps it. Rejects with `resource_exhausted` where it does not fit at all, or where what is in use
   * leaves no room for it within ten seconds.
   */
  async reserve({ what, bytes: expected, signal }: MemoryNeed): Promise<MemoryShare> {
    const bytes = Math.max(expected, this.#measured.get(what) ?? 0);
    if (bytes > this.#maxBytes) throw tooLarge(what, bytes, this.#maxBytes);
    const since = performance.now();
    for (;;) {
      const share = await this.#tryTake({ what, bytes });
      if (share !== undefined) return share;
      signal?.throwIfAborted();
      const waitMs = this.#loading.count > 0 ? WAIT_FOR_LOADS_MS : WAIT_MS;
      if (performance.now() - Math.max(since, this.#lastLoaded) > waitMs) throw allInUse(what, bytes, this.#maxBytes);
      if (!(await this.#makeRoom(bytes))) await delay(LOOK_MS, undefined, { ref: false, ...(signal && { signal }) });
    }
  }

  /** Undefined while there is no room; throws `resource_exhausted` for what does not fit into the memory that is free. */
  async #tryTake({ what, bytes }: MemoryNeed): Promise<MemoryShare | undefined> {
    const { isChecked, free = freeMemory } = this.#options;
    const left = isChecked ? await free() : undefined;
    if (this.#bytes + bytes > this.#maxBytes) return undefined;
    if (left === undefined || bytes <= left.bytes - this.#loading.bytes) return this.#take(what, bytes);
    // How much of it those have that load now is not known.
    if (this.#loading.count > 0) return undefined;
    throw notFree(what, bytes, left);
  }

  /** Unloads what has not been used for longest until there is room; false, and nothing is unloaded, where that is not enough. */
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

  /** Begins to measure a load; returns the size by an estimate and by what was measured. */
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

  #take(what: string, bytes: number): MemoryShare {
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
        this.#measured.set(what, now);
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
