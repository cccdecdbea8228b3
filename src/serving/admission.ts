import { ServingError } from "../errors.ts";
import type { RequestInfo } from "../hooks/hooks.ts";

/** A request under way. */
export interface InFlight {
  readonly id: string;
  readonly model: string;
  /** Milliseconds since it was admitted. */
  readonly ageMs: number;
}

/** Knows the requests under way, and lets none in once it is closed. */
export class Admission {
  readonly #inside = new Map<symbol, { readonly info: RequestInfo; readonly since: number }>();
  readonly #closeListeners = new Set<() => void>();
  #open = true;

  /** Whether requests are let in. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Runs a request's task, or throws `unavailable` when closed. */
  async admit<T>(info: RequestInfo, task: () => Promise<T>): Promise<T> {
    if (!this.#open) throw new ServingError("unavailable", "The server is shutting down; send the request to another.");
    const key = Symbol(info.id);
    this.#inside.set(key, { info, since: performance.now() });
    try {
      return await task();
    } finally {
      this.#inside.delete(key);
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

  /** The requests under way, oldest first. */
  list(): readonly InFlight[] {
    const now = performance.now();
    return [...this.#inside.values()].map(({ info: { id, model }, since }) => ({ id, model, ageMs: now - since }));
  }
}
