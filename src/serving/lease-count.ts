/** Number of requests that hold a servable, and of threads that keep it for requests to come. */
export class LeaseCount {
  readonly #onFree: () => void;
  #count = 0;
  #keeping = 0;

  /** `onFree` is called each time that no request, or no thread, holds the servable any more. */
  constructor(onFree: () => void = () => {}) {
    this.#onFree = onFree;
  }

  /** True while no request holds the servable. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  /** True while a request holds the servable, or a thread keeps it. */
  get isHeld(): boolean {
    return this.#count > 0 || this.#keeping > 0;
  }

  take(): void {
    this.#count++;
  }

  release(): void {
    this.#count--;
    if (this.#count === 0) this.#onFree();
  }

  /** Keeps the servable from being replaced, though not from being unloaded until the next request. */
  keep(): void {
    this.#keeping++;
  }

  /** Ends {@link keep}. */
  letGo(): void {
    this.#keeping--;
    if (this.#keeping === 0) this.#onFree();
  }
}
