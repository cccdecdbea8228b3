/** Number of requests that hold a servable, and of threads that keep it for requests to come. */
export class LeaseCount {
  readonly #idleListeners: (() => void)[] = [];
  readonly #onIdle: () => void;
  #count = 0;
  #keeping = 0;

  /** `onIdle` is called each time that no request holds the servable any more. */
  constructor(onIdle: () => void = () => {}) {
    this.#onIdle = onIdle;
  }

  /** True while no request holds the servable. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  take(): void {
    this.#count++;
  }

  release(): void {
    this.#count--;
    if (this.#count === 0) this.#onIdle();
    this.#tellIdle();
  }

  /** Keeps the servable from being replaced, though not from being unloaded until the next request. */
  keep(): void {
    this.#keeping++;
  }

  /** Ends {@link keep}. */
  letGo(): void {
    this.#keeping--;
    this.#tellIdle();
  }

  /** Resolves once no request holds the servable, and no thread keeps it. */
  async idle(): Promise<void> {
    if (this.#isHeld) await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  get #isHeld(): boolean {
    return this.#count > 0 || this.#keeping > 0;
  }

  #tellIdle(): void {
    if (this.#isHeld) return;
    for (const listener of this.#idleListeners.splice(0)) listener();
  }
}
