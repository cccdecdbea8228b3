import { type ErrorHint, toDetail } from "../error-info.ts";
import { type ErrorCode, ServingError } from "../errors.ts";
import { publicError } from "./public-error.ts";

/** A check if a caller may hear of a model. */
export type Hears = (model: string) => boolean;

/** The text for a caller, with a hint perhaps. */
type TextFor = (hears: Hears) => string | { readonly text: string; readonly hint: ErrorHint };

const TEXTS = new WeakMap<ServingError, TextFor>();

/** An error that names models other than the one that a call is about. */
export function namingError(code: ErrorCode, textFor: TextFor): ServingError {
  const error = errorOf(
    code,
    textFor(() => true),
  );
  TEXTS.set(error, textFor);
  return error;
}

function errorOf(code: ErrorCode, told: ReturnType<TextFor>, cause?: ServingError): ServingError {
  const options = cause === undefined ? {} : { cause };
  if (typeof told === "string") return new ServingError(code, told, options);
  return new ServingError(code, told.text, { details: [toDetail(told.hint)], ...options });
}

/** The error for a caller that may not hear of every model; its cause may be the one that names them. */
export function errorFor(error: ServingError, hears: Hears): ServingError {
  for (let one: unknown = error; one instanceof ServingError; one = one.cause) {
    const told = TEXTS.get(one)?.(hears);
    if (told === undefined) continue;
    const text = typeof told === "string" ? told : told.text;
    return text === one.message ? error : publicError(errorOf(error.code, told, error));
  }
  return error;
}
