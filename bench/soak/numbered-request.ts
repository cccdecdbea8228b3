/**
 * Values of a request with a number: `size` of them that begin with the number. All are even, and their halves exact in
 * float32.
 */
export function numberedValues(number: number, size: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: size }, (_, index) => number + 2 * (index % 64));
}

/** Verdict on an answer. */
export type Verdict = "right" | "wrong" | "cross-talk";

/** Compares an answer with what the request's number asks for: each value halved, plus two, and the number itself. */
export function oracle(
  number: number,
  size: number,
  { y, answered }: { y: ArrayLike<number>; answered: number },
): Verdict {
  if (answered !== number) return "cross-talk";
  if (y.length !== size) return "wrong";
  for (let index = 0; index < size; index++) if (y[index] !== number / 2 + 2 + (index % 64)) return "wrong";
  return "right";
}

/** Even numbers, each once; beyond what float32 holds exactly they begin again. */
export class Numbers {
  #last = 0;

  next(): number {
    this.#last = (this.#last + 2) % 8_000_000;
    return this.#last;
  }
}
