import { ServingError } from "../errors.ts";
import type { RequestInfo } from "../hooks/hooks.ts";

/** A request under way. */
export interface InFlight {
  readonly id: string;
  readonly model: string;
  /** Milliseconds since it was admitted. */
  readonly ageMs: number;
}

/** How much may be under way, waiting or running. */
export interface AdmissionLimits {
  /** Requests. */
  readonly maxCount: number;
  /** Bytes of their inputs. One request alone is always let in. */
  readonly maxBytes: number;
}

interface Inside {
  readonly info: RequestInfo;
  readonly bytes: number;
  readonly since: number;
}

/** Knows the requests under way, lets in no more than the limits, and nobody once it is closed. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #inside = new Set<Inside>();
  readonly #closeListeners = new Set<() => void>();
  readonly #emptyListeners = new Set<() => void>();
  #bytes = 0;
  #open = true;

  constructor(limits: AdmissionLimits = { maxCount: Infinity, maxBytes: Infinity }) {
    this.#limits = limits;
  }

  /** Whether requests are let in. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Runs a request's task; throws `unavailable` at once when closed or full, so that memory never grows with load. */
  async admit<T>(info: RequestInfo, bytes: number, task: () => Promise<T>): Promise<T> {
    this.#check(bytes);
    const entry = { info, bytes, since: performance.now() };
    this.#inside.add(entry);
    this.#bytes += bytes;
    try {
      return await task();
    } finally {
      this.#inside.delete(entry);
      this.#bytes -= bytes;
      if (this.#inside.size === 0) for (const listener of this.#emptyListeners) listener();
    }
  }

  /** Lets nobody in any more; those inside go on. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const listener of this.#closeListeners) listener();
  }

  /** Calls back once closed; returns how to stop that. */
  onClose(listener: () => void): () => void {
    this.#closeListeners.add(listener);
    return () => this.#closeListeners.delete(listener);
  }

  /** Resolves once nobody is inside, or after `timeoutMs`, with those who still are. */
  async empty(timeoutMs: number): Promise<readonly InFlight[]> {
    if (this.#inside.size === 0) return [];
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#emptyListeners.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#emptyListeners.add(done);
    });
    return this.list();
  }

  /** The requests under way, oldest first. */
  list(): readonly InFlight[] {
    const now = performance.now();
    return [...this.#inside].map(({ info: { id, model }, since }) => ({ id, model, ageMs: now - since }));
  }

  #check(bytes: number): void {
    if (!this.#open) throw new ServingError("unavailable", "The server is shutting down; send the request to another.");
    const { maxCount, maxBytes } = this.#limits;
    if (this.#inside.size >= maxCount) {
      throw new ServingError(
        "unavailable",
        `${maxCount} requests are under way already (--max-queue); try again later.`,
      );
    }
    if (this.#inside.size > 0 && this.#bytes + bytes > maxBytes) {
      throw new ServingError(
        "unavailable",
        `The requests under way hold ${this.#bytes} bytes (--max-queue-bytes ${maxBytes}); try again later.`,
      );
    }
  }
}
