import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Place of a request when it failed, by the notes of the hook threads. */
export type Whereabouts = "in a killed thread" | "not started" | "in a living thread";

/** The files in which hook threads write down which numbers they start; see soak-hooks.ts. */
export class StartedNumbers {
  readonly folder = mkdtempSync(join(tmpdir(), "kserving-soak-"));

  /** Tells where each of the numbers was; `killers` are the numbers of the requests that made a thread die. */
  find(numbers: readonly number[], killers: ReadonlySet<number>): Whereabouts[] {
    if (numbers.length === 0) return [];
    const wanted = new Set(numbers);
    const inKilled = new Set<number>();
    const inLiving = new Set<number>();
    for (const started of this.#files()) {
      const found = started.some((number) => killers.has(number)) ? inKilled : inLiving;
      for (const number of started) if (wanted.has(number)) found.add(number);
    }
    return numbers.map((number) => {
      if (inKilled.has(number)) return "in a killed thread";
      return inLiving.has(number) ? "in a living thread" : "not started";
    });
  }

  delete(): void {
    rmSync(this.folder, { recursive: true });
  }

  #files(): Int32Array[] {
    return readdirSync(this.folder).map((name) => {
      const bytes = new Uint8Array(readFileSync(join(this.folder, name)));
      return new Int32Array(bytes.buffer, 0, bytes.length >> 2);
    });
  }
}
