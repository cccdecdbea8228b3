import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Place of a request when it failed, by the notes of the hook threads. */
export type Whereabouts = "in a killed thread" | "not started" | "in a living thread";

/** The files of threads that answer in parts begin so: soak-stream-hooks.ts. */
const STREAMS = "streams-";

/** The files in which hook threads write down which numbers they start; see soak-hooks.ts. */
export class StartedNumbers {
  readonly folder = mkdtempSync(join(tmpdir(), "kserving-soak-"));

  /** Tells where each of the numbers was; `killers` are the numbers of the requests that made a thread die. */
  find(numbers: readonly number[], killers: ReadonlySet<number>): Whereabouts[] {
    if (numbers.length === 0) return [];
    const wanted = new Set(numbers);
    const inKilled = new Set<number>();
    const inLiving = new Set<number>();
    for (const started of this.#files("")) {
      const found = started.some((number) => killers.has(number)) ? inKilled : inLiving;
      for (const number of started) if (wanted.has(number)) found.add(number);
    }
    return numbers.map((number) => {
      if (inKilled.has(number)) return "in a killed thread";
      return inLiving.has(number) ? "in a living thread" : "not started";
    });
  }

  /** Generators that have begun and not ended, without those of threads that a killer ended. */
  unended(killers: ReadonlySet<number>): number {
    let count = 0;
    for (const numbers of this.#files(STREAMS)) {
      if (numbers.some((number) => killers.has(number))) continue;
      for (const number of numbers) count += Math.sign(number);
    }
    return count;
  }

  delete(): void {
    rmSync(this.folder, { recursive: true });
  }

  #files(start: string): Int32Array[] {
    const names = readdirSync(this.folder).filter((name) => name.startsWith(start));
    return names.map((name) => {
      const bytes = new Uint8Array(readFileSync(join(this.folder, name)));
      return new Int32Array(bytes.buffer, 0, bytes.length >> 2);
    });
  }
}
