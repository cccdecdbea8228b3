import { DecodeBudget } from "../../src/platform/limits/memory/decode-budget.ts";

/** A budget that no test uses up unless it means to. */
export function ampleBudget(): DecodeBudget {
  return new DecodeBudget(256 * 1024 * 1024);
}
