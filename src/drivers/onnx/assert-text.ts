import { isUtf8 } from "node:buffer";
import { invalidArgument } from "../../errors.ts";

/** Throws `invalid_argument`, with the input's name, for elements that are not text. */
export function assertTexts(name: string, elements: readonly Uint8Array[]): void {
  const wrong = elements.findIndex((element) => !isUtf8(element));
  if (wrong === -1) return;
  throw invalidArgument(`Input "${name}" is not valid UTF-8 in element ${wrong}; the model takes text.`);
}
