/** Number of requests that hold a servable. */
export class LeaseCount {
  readonly #idleListeners: (() => void)[] = [];
  #count = 0;

  /** True while no request holds the servable. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  take(): void {
    this.#count++;
  }

  release(): void {
    this.#count--;
    if (this.#count > 0) return;
    for (const listener of this.#idleListeners.splice(0)) listener();
  }

  /** Resolves once no request holds the servable. */
  async idle(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }
}
