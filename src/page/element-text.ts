import type { Element } from "./form-tensor.ts";

/** Characters of a text that are shown. */
const MAX_TEXT = 300;

/** An element for people: a number with six digits, UTF-8 as text, other bytes by their number. */
export function elementText(value: Element): string {
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (!(value instanceof Uint8Array)) return cut(String(value));
  try {
    return cut(new TextDecoder("utf-8", { fatal: true }).decode(value));
  } catch {
    return `${value.length} bytes`;
  }
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
