import { inspect } from "node:util";
import { reasonText, ServingError } from "../errors.ts";

/** A failed start as one line; with `causes` also what led to it, one paragraph for each, with stacks. An error that nobody foresaw is its own cause. */
export function toErrorText(reason: unknown, { causes }: { readonly causes: boolean }): string {
  const line = `kserving: ${reasonText(reason)
    .replace(/\s*\n\s*/g, " ")
    .trim()}`;
  const chain = reason instanceof ServingError ? causeChain(reason) : [reason, ...causeChain(reason)];
  const paragraphs = causes ? chain.map((cause) => `  caused by: ${indent(inspectCause(cause))}`) : [];
  return `${[line, ...paragraphs].join("\n")}\n`;
}

function causeChain(reason: unknown): unknown[] {
  const chain: unknown[] = [];
  let cause = causeOf(reason);
  while (cause !== undefined && cause !== reason && !chain.includes(cause)) {
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
