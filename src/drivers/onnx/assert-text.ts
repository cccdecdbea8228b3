import { isUtf8 } from "node:buffer";
import { invalidArgument } from "../../errors.ts";

/**
 * Throws `invalid_argument`, with the input's name, for elements that ONNX Runtime would not take whole: it takes text,
 * which ends at a zero byte.
 */
export function assertTexts(name: string, elements: readonly Uint8Array[]): void {
  const wrong = elements.findIndex((element) => !isUtf8(element) || element.includes(0));
  if (wrong === -1) return;
  throw invalidArgument(
    isUtf8(elements[wrong]!)
      ? `Input "${name}" has a zero byte in element ${wrong}; ONNX Runtime takes texts that end at one.`
      : `Input "${name}" is not valid UTF-8 in element ${wrong}; the model takes text.`,
  );
}
