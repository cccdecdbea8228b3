import { MAX_TIMER_MS } from "../platform/limits/call-limits.ts";

/** Number of requests that hold a servable, and of threads that keep it for requests to come. */
export class LeaseCount {
  readonly #idleListeners: (() => void)[] = [];
  #count = 0;
  #keeping = 0;

  /** True while no request holds the servable. */
  get isIdle(): boolean {
    return this.#count === 0;
  }

  take(): void {
    this.#count++;
  }

  release(): void {
    this.#count--;
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

/** Conditions under which an {@link IdleTimer} fires. */
interface IdleTimerOptions {
  /** Milliseconds without use after which it fires; 0 = never. */
  readonly idleMs: () => number;
  readonly isInUse: () => boolean;
  /** End of the last use, on the clock of performance.now(). */
  readonly lastUse: () => number;
  readonly onIdle: (idleMs: number) => void;
}

/** Waits until something has not been used for a time. It keeps no process alive. */
export class IdleTimer {
  readonly #options: IdleTimerOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: IdleTimerOptions) {
    this.#options = options;
  }

  /** Starts waiting; also to be called when the time has changed. */
  start(): void {
    this.stop();
    const { idleMs: limit, isInUse, lastUse } = this.#options;
    const idleMs = limit();
    if (idleMs <= 0) return;
    const leftMs = isInUse() ? idleMs : Math.max(1, lastUse() + idleMs - performance.now());
    this.#timer = setTimeout(() => this.#checkIdle(idleMs), Math.min(leftMs, MAX_TIMER_MS)).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #checkIdle(idleMs: number): void {
    const { isInUse, lastUse, onIdle } = this.#options;
    if (!isInUse() && performance.now() - lastUse() >= idleMs) onIdle(idleMs);
    else this.start();
  }
}
