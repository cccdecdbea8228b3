import { invalidArgument, type ServingError } from "../errors.ts";

/**
 * Maximum number of a result's values besides its tensors and bytes, and of their characters: reading more would block
 * the main thread.
 */
const MAX_VALUES = 32 * 1024;
const MAX_CHARACTERS = 1024 * 1024;

/** Throws `invalid_argument` unless the plain part of a message to the main thread is small. */
export function checkExtent(tree: unknown): void {
  let values = 0;
  let characters = 0;
  const count = (value: unknown): void => {
    values++;
    if (typeof value === "string") characters += value.length;
    if (values > MAX_VALUES || characters > MAX_CHARACTERS) throw tooMuch();
    if (Array.isArray(value)) for (const each of value) count(each);
  };
  count(tree);
}

function tooMuch(): ServingError {
  return invalidArgument(
    `The message has more than ${MAX_VALUES} names and parameters, or more than ${MAX_CHARACTERS} characters in them; send fewer, and large data as values of inputs.`,
  );
}
