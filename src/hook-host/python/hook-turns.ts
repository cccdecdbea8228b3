import type { CancelSignal } from "../../async/cancel-source.ts";

/** Lets one hook compute at a time: the others wait, first come first served. */
export class HookTurns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** Resolves when it is the caller's turn; one whose signal has aborted by then is rejected with its reason. */
  async take(signal?: CancelSignal): Promise<void> {
    if (this.#isTaken) await new Promise<void>((go) => this.#waiting.push(go));
    this.#isTaken = true;
    if (!signal?.aborted) return;
    this.give();
    throw signal.reason;
  }

  /** Like {@link take}, before all others: for a hook that has begun. */
  async resume(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((go) => this.#waiting.unshift(go));
    this.#isTaken = true;
  }

  /** Ends the turn. */
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isTaken = false;
    else next();
  }
}
