/** The expected answer. */
export interface Expected {
  readonly bytes: Buffer;
  /**
   * Range of float32 values that may differ in their last digits: a batch is added up in another order. Absent = every
   * byte counts.
   */
  readonly floats?: { readonly from: number; readonly to: number };
  /** True = only the length counts, to a tenth: numbers as text, of a model whose values depend on the batch. */
  readonly isRough?: boolean;
}

/** Largest distance of a float from the expected one, relative to the largest of all. */
const TOLERANCE = 1e-4;

/** Compares one answer with what it must be while it comes in. */
export class AnswerCheck {
  readonly #expected: Expected;
  readonly #parts: Buffer[] = [];
  #length = 0;
  #isWrong = false;

  constructor(expected: Expected) {
    this.#expected = expected;
  }

  /** Takes the next bytes; keeps none of them unless floats are compared. */
  add(chunk: Buffer): void {
    const { bytes, floats, isRough } = this.#expected;
    const end = this.#length + chunk.length;
    if (floats !== undefined) this.#parts.push(Buffer.from(chunk));
    else if (isRough) this.#length = end;
    else if (end > bytes.length || chunk.compare(bytes, this.#length, end) !== 0) this.#isWrong = true;
    this.#length = end;
  }

  /** Checks that all of it came, and nothing else. */
  isRight(): boolean {
    const { bytes, floats, isRough } = this.#expected;
    if (isRough) return Math.abs(this.#length - bytes.length) < bytes.length / 10;
    if (this.#isWrong || this.#length !== bytes.length) return false;
    return floats === undefined || isNear(Buffer.concat(this.#parts), bytes, floats);
  }
}

function isNear(actual: Buffer, expected: Buffer, { from, to }: { from: number; to: number }): boolean {
  if (actual.compare(expected, 0, from, 0, from) !== 0) return false;
  if (actual.compare(expected, to, expected.length, to) !== 0) return false;
  let largest = 0;
  let furthest = 0;
  for (let at = from; at < to; at += 4) {
    const value = expected.readFloatLE(at);
    largest = Math.max(largest, Math.abs(value));
    furthest = Math.max(furthest, Math.abs(actual.readFloatLE(at) - value));
  }
  // Also false for NaN.
  return furthest <= TOLERANCE * largest;
}
