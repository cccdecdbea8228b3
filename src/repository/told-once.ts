import type { Logger } from "../observability/logger.ts";

/** Logs what each look finds, the same text only once as long as it is found. */
export class ToldOnce {
  readonly #log: Logger;
  #before = new Set<string>();
  #now = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Begins the next look. */
  nextLook(): void {
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
