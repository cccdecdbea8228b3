/**
 * Values of a request with a number: `size` of them that begin with the number. All are even, and their halves exact in
 * float32.
 */
export function numberedValues(number: number, size: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: size }, (_, index) => number + 2 * (index % 64));
}

/** Answer to a number. */
export interface NumberedAnswer {
  readonly y: ArrayLike<number>;
  readonly answered: number;
}

/** A request that was not answered: gRPC's name of the status, and the server's text. */
export class Refused extends Error {
  readonly status: string;

  constructor(status: string, message: string) {
    super(message);
    this.status = status;
  }
}

/** Verdict on an answer. */
export type Verdict = "right" | "wrong" | "cross-talk";

/** Compares an answer with what the request's number asks for: each value halved, plus two, and the number itself. */
export function oracle(number: number, size: number, { y, answered }: NumberedAnswer): Verdict {
  if (answered !== number) return "cross-talk";
  if (y.length !== size) return "wrong";
  for (let index = 0; index < size; index++) if (y[index] !== number / 2 + 2 + (index % 64)) return "wrong";
  return "right";
}

/** Parts of the answer to a number, where it comes in parts. */
export function partsOf(number: number): number {
  return 1 + ((number / 2) % 12);
}

/** Even numbers, each once; beyond what float32 holds exactly they begin again. */
export class Numbers {
  #last = 0;

  next(): number {
    this.#last = (this.#last + 2) % 8_000_000;
    return this.#last;
  }
}
