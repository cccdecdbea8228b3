import { invalidArgument, reasonText, type ServingError } from "../../errors.ts";

/** Reads the option `model_args`, a JSON object or list; throws `invalid_argument` for anything else. */
export function parseModelArgs(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const value = parse(text);
  if (typeof value === "object" && value !== null) return value;
  throw invalid(text, `it is ${value === null ? "null" : `a ${typeof value}`}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid(text, reasonText(cause));
  }
}

function invalid(text: string, why: string): ServingError {
  const expected = 'a JSON object such as {"hidden": 8}, or a list';
  return invalidArgument(`Option "model_args" is "${text}"; expected ${expected}: ${why}.`);
}
