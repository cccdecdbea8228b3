import { ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { isObject } from "../tensor/record.ts";
import type { TextUsage } from "./text-request.ts";

/** Makes the error about a value that a function gave, with what was expected of it. */
export type Refuse = (what: string, expected: string) => ServingError;

/** The errors about what the function of that name has `returned` or `yielded`. */
export function refusal(name: string, verb: string): Refuse {
  return (what, expected) => new ServingError("internal", `The hook ${name} ${verb} ${what}; expected ${expected}.`);
}

/** Throws for a member that a function's answer does not have. */
export function checkMembers(value: object, known: readonly string[], refuse: Refuse): void {
  const unknown = Object.keys(value).find((member) => !known.includes(member));
  if (unknown !== undefined) throw refuse(`the member ${unknown}`, known.join(", "));
}

/** Checks the tokens that an answer has taken. */
export function toUsage(usage: unknown, refuse: Refuse): TextUsage | undefined {
  if (usage === undefined) return undefined;
  if (!isObject(usage)) throw refuse(`${kindOf(usage)} as usage`, "an object such as { promptTokens: 5 }");
  const { promptTokens, completionTokens } = usage;
  return { promptTokens: toCount(promptTokens, refuse), completionTokens: toCount(completionTokens, refuse) };
}

function toCount(count: unknown, refuse: Refuse): number | undefined {
  if (count === undefined || (typeof count === "number" && Number.isSafeInteger(count) && count >= 0)) return count;
  throw refuse(`usage with ${String(count).slice(0, 100)}`, "whole numbers of tokens");
}
