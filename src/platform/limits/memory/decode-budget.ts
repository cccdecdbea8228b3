import { invalidArgument, type ServingError } from "../../../errors.ts";

/**
 * Maximum number of inputs of a request, and of requested outputs: far above the needs of models, far below a number
 * that would keep the server busy.
 */
export const MAX_INPUTS = 2048;

/** Memory of an element of a `bytes` tensor in addition to its bytes, packed or not. */
export const ELEMENT_BYTES = 64;

/**
 * Limit on the memory that one request's message claims. A short message can claim much (a shape without values, one
 * repeated value, a million empty strings or inputs), and is refused before allocation.
 */
export class DecodeBudget {
  readonly limitBytes: number;
  #left: number;
  #inputs = 0;
  #outputs = 0;

  /** `limitBytes` limits the decoded values, not the views of the message. */
  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
    this.#left = limitBytes;
  }

  /** Bytes that are left. */
  get leftBytes(): number {
    return this.#left;
  }

  /** Spends bytes; throws `invalid_argument`, naming their purpose, if too few are left. */
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

  /** Counts requested outputs, likewise. */
  countOutputs(count: number): void {
    this.#outputs += count;
    if (this.#outputs > MAX_INPUTS) throw tooMany("outputs");
  }
}

function tooMany(what: string): ServingError {
  return invalidArgument(`The request has more than ${MAX_INPUTS} ${what}; send fewer, or larger ones.`);
}

/** Maximum memory that the main thread decodes a message into, in bytes: about five milliseconds of work. */
const QUICK_BYTES = 1024 * 1024;

/** Thrown when the limit is exceeded. */
class TakesLong extends Error {}

class QuickBudget extends DecodeBudget {
  override spend(bytes: number, what: () => string): void {
    super.spend(bytes, what);
    if (this.limitBytes - this.leftBytes > QUICK_BYTES) throw new TakesLong();
  }
}

/**
 * Decodes a message whose values take at most `maxBytes`; otherwise stops early and returns undefined, so that a codec
 * thread decodes it.
 */
export function decodeQuickly<Result>(maxBytes: number, decode: (budget: DecodeBudget) => Result): Result | undefined {
  try {
    return decode(new QuickBudget(maxBytes));
  } catch (reason) {
    if (reason instanceof TakesLong) return undefined;
    throw reason;
  }
}
