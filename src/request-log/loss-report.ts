import type { Logger } from "../observability/logger.ts";

/** Milliseconds between two lines of the log. */
const INTERVAL_MS = 60_000;

/** Logs requests that are not recorded: the first immediately, further ones once a minute. */
export class LossReport {
  readonly #model: string;
  readonly #log: Logger;
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(model: string, log: Logger) {
    this.#model = model;
    this.#log = log;
  }

  /** Counts lost requests with a reason, which is a sentence with the remedy. */
  add(reason: string, count = 1): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count);
    if (this.#timer === undefined) this.tell();
  }

  /** Logs the losses since the last time. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counts.size === 0) return;
    for (const [reason, count] of this.#counts) {
      const requests = count === 1 ? "1 request was" : `${count} requests were`;
      this.#log.warn(`${requests} not recorded: ${reason}`, { model: this.#model, count });
    }
    this.#counts.clear();
    this.#timer = setTimeout(() => this.tell(), INTERVAL_MS).unref();
  }

  /** Logs the remaining losses, and stops. */
  close(): void {
    this.tell();
    clearTimeout(this.#timer);
  }
}
