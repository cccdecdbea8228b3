/** A way by which texts and bytes of others enter, with the longest that may come so. */
export interface TextCost {
  readonly name: string;
  /** The longest that tests read. */
  readonly most: number;
  /** The longest that may come, to which `npm run check -- costs` doubles them; absent = `most`. */
  readonly largest?: number;
  /** False where another thread reads it, or only at the operator's wish: no limit but proportion. Default true. */
  readonly isInMainThread?: boolean;
  /** Texts of a length that are hostile to whatever may try several ways. */
  readonly texts: Readonly<Record<string, (length: number) => string>>;
  /** Reads a text, or the same as bytes of Latin-1, whatever comes of it. */
  readonly read: (text: string, bytes: Uint8Array) => unknown;
}

/** Messages that other threads read: tests take part of the longest. */
export const LARGE = { most: 2 * 2 ** 20, largest: 64 * 2 ** 20 } as const;

const repeat = (part: string, length: number) => part.repeat(Math.max(1, Math.floor(length / part.length)));
/** A part again and again. */
export const filled =
  (part: string, end = "") =>
  (length: number) =>
    repeat(part, length - end.length) + end;
/** The same between a beginning and an end. */
export const between =
  (start: string, part: string, end = "") =>
  (length: number) =>
    start + repeat(part, length - start.length - end.length) + end;
/** Different names, so that a table has to keep them all. */
export const numbered = (start: string, part: (at: number) => string, end: string) => (length: number) => {
  const parts: string[] = [];
  for (let have = start.length + end.length, at = 0; have < length; at++)
    have += parts[parts.push(part(at)) - 1]!.length;
  return start + parts.join("") + end;
};
