import { DecodeBudget } from "./decode-budget.ts";

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
