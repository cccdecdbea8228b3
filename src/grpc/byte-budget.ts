import { ServingError } from "../errors.ts";

/**
 * Bytes that what is decoded from one message may take together, beside what views the message: a short one can claim
 * much (a shape without values, one value to be repeated, a million empty texts), and is refused before it is allocated.
 */
export class ByteBudget {
  readonly limitBytes: number;
  #left: number;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
    this.#left = limitBytes;
  }

  /** Takes bytes away; throws `invalid_argument` naming what needs them if there are not enough left. */
  spend(bytes: number, what: () => string): void {
    if (bytes > this.#left) {
      throw new ServingError(
        "invalid_argument",
        `${what()} takes ${bytes} bytes in memory, ${this.#left} of ${this.limitBytes} are left for this message`,
      );
    }
    this.#left -= bytes;
  }
}
