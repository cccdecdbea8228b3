import type { Logger } from "../observability/logger.ts";

/** Logs the findings of each check; the same text only once while it persists. */
export class DistinctLog {
  readonly #log: Logger;
  #before = new Set<string>();
  #now = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Begins the next check. */
  nextScan(): void {
    this.#before = this.#now;
    this.#now = new Set();
  }

  warn(text: string): void {
    if (this.#isNew(text)) this.#log.warn(text);
  }

  error(text: string, err?: unknown): void {
    if (this.#isNew(text)) this.#log.error(text, err === undefined ? {} : { err });
  }

  #isNew(text: string): boolean {
    const isNew = !this.#before.has(text) && !this.#now.has(text);
    this.#now.add(text);
    return isNew;
  }
}
