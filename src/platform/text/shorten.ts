/** Characters of one line of a log, or of the text and the stack of an error in it. */
export const MAX_LOG_TEXT = 16 * 1024;

/** Saved before hooks, in whose threads this runs too, may replace it. */
const { call } = Function.prototype;
const slice: (text: string, from: number, to?: number) => string = call.bind(String.prototype.slice);

/** The beginning of a text, of `max` characters and a note that says how many more there were. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${slice(text, 0, max)}… (${text.length - max} more characters)`;
}

/** The beginning and the end of a text: of a stack, the end of the message and the places. */
export function shortenMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const half = max >> 1;
  return `${slice(text, 0, half)}… (${text.length - 2 * half} more characters) …${slice(text, text.length - half)}`;
}

/**
 * A text without these characters at its end; takes a time in proportion to their number, unlike a pattern with `$`.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
