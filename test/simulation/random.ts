/** Chance that a seed decides: splitmix32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** The next number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, end). */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** True with this probability. */
  is(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of them. */
  of<One>(choices: readonly [One, ...One[]] | readonly One[]): One {
    return choices[this.below(choices.length)] as One;
  }

  /** One of them, each as likely as its weight says. */
  weighted<One extends string>(weights: Readonly<Record<One, number>>): One {
    const all = Object.entries<number>(weights) as [One, number][];
    let left = this.next() * all.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [one, weight] of all) {
      left -= weight;
      if (left < 0) return one;
    }
    return (all.at(-1) as [One, number])[0];
  }
}

/** A seed that follows from a text and another seed. */
export function seedOf(seed: number, text: string): number {
  let hash = seed ^ 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash | 0;
}
