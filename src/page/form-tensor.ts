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
