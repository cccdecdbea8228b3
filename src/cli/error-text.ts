import { inspect } from "node:util";
import { reasonText } from "../errors.ts";

/** A failed start as one line; with `causes` also what led to it, one paragraph for each, with stacks. */
export function toErrorText(reason: unknown, { causes }: { readonly causes: boolean }): string {
  const line = `kserving: ${reasonText(reason)
    .replace(/\s*\n\s*/g, " ")
    .trim()}`;
  const chain = causes ? causeChain(reason).map((cause) => `  caused by: ${indent(inspectCause(cause))}`) : [];
  return `${[line, ...chain].join("\n")}\n`;
}

function causeChain(reason: unknown): unknown[] {
  const chain: unknown[] = [];
  let cause = causeOf(reason);
  while (cause !== undefined && !chain.includes(cause)) {
    chain.push(cause);
    cause = causeOf(cause);
  }
  return chain;
}

function causeOf(reason: unknown): unknown {
  return reason instanceof Error ? reason.cause : undefined;
}

function inspectCause(cause: unknown): string {
  if (cause instanceof Error) return cause.stack ?? reasonText(cause);
  return inspect(cause);
}

function indent(text: string): string {
  return text.replaceAll("\n", "\n  ");
}
