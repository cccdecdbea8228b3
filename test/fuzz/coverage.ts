import { COUNTS, type CountedFile } from "./instrument.ts";

/** Branches that a run took. */
export interface RunCoverage {
  /** True where a branch was taken for the first time, or twice as often as ever, or half. */
  readonly isNew: boolean;
  /** The numbers of the branches that were taken for the first time. */
  readonly first: readonly number[];
  /** Branches taken, each as often as it was. */
  readonly steps: number;
}

/** The branches of an instrumented program that runs in this process. */
export class Coverage {
  readonly #counts: Uint32Array;
  readonly #files: readonly CountedFile[];
  /** By branch a bit for each power of two of how often it was taken in one run. */
  readonly #seen: Uint32Array;

  constructor(files: readonly CountedFile[]) {
    const branches = files.reduce((sum, file) => sum + file.branches, 0);
    const counts = (globalThis as unknown as Record<string, Uint32Array | undefined>)[COUNTS];
    if (counts === undefined) throw new Error("This program has no counts; build it with buildInstrumented.");
    this.#counts = counts.subarray(0, branches);
    this.#seen = new Uint32Array(branches);
    this.#files = files;
  }

  /** To be called before a run. */
  begin(): void {
    this.#counts.fill(0);
  }

  /** To be called behind a run. */
  end(): RunCoverage {
    const [counts, seen] = [this.#counts, this.#seen];
    const first: number[] = [];
    let [isNew, steps] = [false, 0];
    for (let index = 0; index < counts.length; index++) {
      const count = counts[index] as number;
      if (count === 0) continue;
      steps += count;
      const bit = 1 << (31 - Math.clz32(count));
      const before = seen[index] as number;
      if ((before & bit) !== 0) continue;
      isNew = true;
      if (before === 0) first.push(index);
      seen[index] = before | bit;
    }
    return { isNew, first, steps };
  }

  /** The numbers of the branches that the last run took. */
  taken(): number[] {
    const all: number[] = [];
    for (const [index, count] of this.#counts.entries()) if (count > 0) all.push(index);
    return all;
  }

  /** Sources of which runs took a branch, with how many of their branches were taken. */
  reached(): readonly { readonly file: CountedFile; readonly taken: number }[] {
    return this.#files.flatMap((file) => {
      const seen = this.#seen.subarray(file.first, file.first + file.branches);
      const taken = seen.reduce((sum, bits) => sum + Number(bits !== 0), 0);
      return taken === 0 ? [] : [{ file, taken }];
    });
  }
}
