import { ERROR } from "./protocol.ts";

/** Most requests that wait for their reset. */
const MOST_WAITING = 1000;

/** The session of requests that are answered early. */
interface EarlyOwner {
  /** Calls back once the other side has read all that was sent before. */
  ping(read: () => void): void;
  resetId(id: number, code: number): void;
}

/**
 * Requests that were answered before they had ended: a client need not send the rest (RFC 9113 §8.1). They are reset
 * once it has read the answer: one of node:http2 with much to send never learns of an answer that it reads together
 * with the reset.
 */
export class EarlyAnswers {
  readonly #owner: EarlyOwner;
  #waiting: number[] = [];
  #isPinging = false;

  constructor(owner: EarlyOwner) {
    this.#owner = owner;
  }

  /** Adds a stream whose answer is being sent. */
  add(id: number): void {
    if (this.#waiting.push(id) > MOST_WAITING) this.#reset(this.#waiting.splice(0));
    if (this.#isPinging) return;
    this.#isPinging = true;
    // Behind all answers of this write.
    queueMicrotask(() => this.#ping());
  }

  #ping(): void {
    const ids = this.#waiting.splice(0);
    this.#isPinging = ids.length > 0;
    if (!this.#isPinging) return;
    this.#owner.ping(() => {
      this.#reset(ids);
      this.#ping();
    });
  }

  #reset(ids: readonly number[]): void {
    for (const id of ids) this.#owner.resetId(id, ERROR.none);
  }
}
