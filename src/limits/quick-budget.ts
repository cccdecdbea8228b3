import { DecodeBudget } from "./decode-budget.ts";

/** Bytes that may be made of a message in the main thread: some five milliseconds' worth. */
const QUICK_BYTES = 1024 * 1024;

/** Thrown in place of making more. */
class TakesLong extends Error {}

class QuickBudget extends DecodeBudget {
  override spend(bytes: number, what: () => string): void {
    super.spend(bytes, what);
    if (this.limitBytes - this.leftBytes > QUICK_BYTES) throw new TakesLong();
  }
}

/** Decodes a message whose values take at most `maxBytes`; undefined, and little was done, where they take so many that it is not for the main thread. */
export function decodeQuickly<Result>(maxBytes: number, decode: (budget: DecodeBudget) => Result): Result | undefined {
  try {
    return decode(new QuickBudget(maxBytes));
  } catch (reason) {
    if (reason instanceof TakesLong) return undefined;
    throw reason;
  }
}
