import { ListMember, MemberList } from "../async/member-list.ts";
import { ServingError } from "../errors.ts";
import type { RequestInfo } from "../hooks/hooks.ts";

/** A request that is waiting or running. */
export interface InFlight {
  readonly id: string;
  readonly model: string;
  /** Milliseconds since it was admitted. */
  readonly ageMs: number;
}

/** A request that was admitted. */
export class Admitted extends ListMember {
  readonly info: RequestInfo;
  /** On the clock of performance.now(). */
  readonly since = performance.now();

  constructor(info: RequestInfo) {
    super();
    this.info = info;
  }
}

/** Keeps the list of running requests, admits at most `maxCount`, and none once it is closed. */
export class Admission {
  /** Maximum number of admitted requests. */
  readonly maxCount: number;
  readonly #inside = new MemberList<Admitted>();
  readonly #closeListeners = new Set<() => void>();
  readonly #emptyListeners = new Set<() => void>();
  #open = true;

  constructor(maxCount = Number.POSITIVE_INFINITY) {
    this.maxCount = maxCount;
  }

  /** True while requests are admitted. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Number of admitted requests. */
  get count(): number {
    return this.#inside.size;
  }

  /** Admits a request; throws `unavailable` at once when closed or full, so that memory never grows with load. */
  enter(info: RequestInfo): Admitted {
    this.#check();
    const admitted = new Admitted(info);
    this.#inside.add(admitted);
    return admitted;
  }

  /** Removes an admitted request; to be called once it is over. */
  leave(admitted: Admitted): void {
    this.#inside.delete(admitted);
    if (this.#inside.size === 0) for (const listener of this.#emptyListeners) listener();
  }

  /** Admits no more requests; those admitted before continue. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const listener of this.#closeListeners) listener();
  }

  /** Calls back once closed; returns a function that removes the listener. */
  onClose(listener: () => void): () => void {
    this.#closeListeners.add(listener);
    return () => this.#closeListeners.delete(listener);
  }

  /** Resolves with [] once no request is left, or after `timeoutMs` with the requests that are left. */
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

  /** The admitted requests, oldest first. */
  list(): readonly InFlight[] {
    const now = performance.now();
    return this.#inside.list().map(({ info: { id, model }, since }) => ({ id, model, ageMs: now - since }));
  }

  #check(): void {
    if (!this.#open) throw new ServingError("unavailable", "The server is shutting down; send the request to another.");
    if (this.#inside.size < this.maxCount) return;
    throw new ServingError(
      "unavailable",
      `${this.maxCount} requests are under way already (--max-queue); try again later.`,
    );
  }
}
