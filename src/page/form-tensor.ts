/** One element of a tensor: text and bytes of BYTES, numbers, and whole numbers of 64 bits as BigInt. */
export type Element = number | bigint | boolean | string | Uint8Array;

/** One input as it is sent, or one output. */
export interface FormTensor {
  readonly name: string;
  /** KServe V2's. */
  readonly datatype: string;
  readonly shape: readonly number[];
  /** In row-major order. */
  readonly values: readonly Element[];
  /** The file that its only element comes from, for programs that send the same. */
  readonly file?: string | undefined;
}

/** The number of elements of a shape. */
export function countOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The least and the greatest of the values that are finite, and of the two given ones. */
export function rangeOf(
  values: readonly number[],
  low = Number.POSITIVE_INFINITY,
  high = Number.NEGATIVE_INFINITY,
): readonly [low: number, high: number] {
  for (const value of values) {
    if (!Number.isFinite(Number(value))) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

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
