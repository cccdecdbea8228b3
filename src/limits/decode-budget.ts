import { invalidArgument, type ServingError } from "../errors.ts";

/** Inputs that one request may have, and outputs that it may ask for: far above what models take, far below what would keep the server busy by number alone. */
export const MAX_INPUTS = 4096;

/** Memory of an element of a `bytes` tensor in addition to its bytes, packed or not. */
export const ELEMENT_BYTES = 64;

/**
 * Limit on the memory made from one request's bytes. A short message can claim much (a shape without values, one value
 * to be repeated, a million empty texts or inputs), and is refused before it is allocated.
 */
export class DecodeBudget {
  readonly limitBytes: number;
  #left: number;
  #inputs = 0;
  #outputs = 0;

  /** `limitBytes` bounds what is decoded, beside what views the message. */
  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
    this.#left = limitBytes;
  }

  /** Bytes that are left. */
  get leftBytes(): number {
    return this.#left;
  }

  /** Takes bytes away; throws `invalid_argument` naming what needs them if there are not enough left. */
  spend(bytes: number, what: () => string): void {
    if (bytes > this.#left) {
      throw invalidArgument(
        `${what()} takes ${bytes} bytes in memory, ${this.#left} of ${this.limitBytes} are left for this message; send less, or raise --max-message-bytes`,
      );
    }
    this.#left -= bytes;
  }

  /** Counts inputs; throws `invalid_argument` beyond {@link MAX_INPUTS}. */
  countInputs(count: number): void {
    this.#inputs += count;
    if (this.#inputs > MAX_INPUTS) throw tooMany("inputs");
  }

  /** Counts outputs that are asked for, likewise. */
  countOutputs(count: number): void {
    this.#outputs += count;
    if (this.#outputs > MAX_INPUTS) throw tooMany("outputs");
  }
}

function tooMany(what: string): ServingError {
  return invalidArgument(`The request has more than ${MAX_INPUTS} ${what}; send fewer, or larger ones.`);
}
