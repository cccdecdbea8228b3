import { type ErrorCode, ServingError } from "../errors.ts";
import { publicError } from "./public-error.ts";

/** A check if a caller may hear of a model. */
export type Hears = (model: string) => boolean;

/** The text of an error for a caller. */
type TextFor = (hears: Hears) => string;

const TEXTS = new WeakMap<ServingError, TextFor>();

/** An error that names models other than the one that a call is about. */
export function namingError(code: ErrorCode, textFor: TextFor): ServingError {
  const error = new ServingError(
    code,
    textFor(() => true),
  );
  TEXTS.set(error, textFor);
  return error;
}

/** The error for a caller that may not hear of every model; its cause may be the one that names them. */
export function errorFor(error: ServingError, hears: Hears): ServingError {
  for (let one: unknown = error; one instanceof ServingError; one = one.cause) {
    const text = TEXTS.get(one)?.(hears);
    if (text === one.message) return error;
    if (text !== undefined) return publicError(new ServingError(error.code, text, { cause: error }));
  }
  return error;
}
