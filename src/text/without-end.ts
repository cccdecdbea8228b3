/**
 * A text without these characters at its end; takes a time in proportion to their number, unlike a pattern with `$`.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
