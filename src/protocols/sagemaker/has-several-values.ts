const QUOTE = 34;
const BACKSLASH = 92;
/** By byte: 1 opens and -1 closes a list or an object, 0 ends neither. */
const STEPS = new Int8Array(256);
for (const byte of "[{") STEPS[byte.charCodeAt(0)] = 1;
for (const byte of "]}") STEPS[byte.charCodeAt(0)] = -1;
const FIRST_VISIBLE = 33;

/** Checks if something follows the first list or object of a JSON text. */
export function hasSeveralValues(text: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]!;
    if (byte === QUOTE) at = endOfText(text, at);
    else if (STEPS[byte] !== 0) depth += STEPS[byte]!;
    else continue;
    if (depth === 0 && byte !== QUOTE) return text.subarray(at + 1).some((next) => next >= FIRST_VISIBLE);
  }
  return false;
}

/** Place of the quote that closes a text. */
function endOfText(text: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
