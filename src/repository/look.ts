import type { Logger } from "../observability/logger.ts";
import { QuietFiles } from "./quiet-files.ts";
import { ToldOnce } from "./told-once.ts";

/** State that all looks at a repository share, and the manner of the present one. */
export class Look {
  readonly told: ToldOnce;
  readonly #quiet: QuietFiles;
  #atOnce: boolean | string = true;

  /** `quietMs` are the milliseconds without a change after which a file counts as written. */
  constructor(log: Logger, quietMs: number) {
    this.told = new ToldOnce(log);
    this.#quiet = new QuietFiles(quietMs);
  }

  /** Begins a look; `atOnce` takes files as they are, those of all models or of the one of this name. */
  begin(atOnce: boolean | string): void {
    this.#atOnce = atOnce;
    this.told.nextLook();
    this.#quiet.nextLook();
  }

  /** Checks that nobody writes at something of a model, or of all (an empty name), any more: see {@link QuietFiles.isQuiet}. */
  isSettled([model, what]: SettledKey, state: string, changedMs?: number): boolean {
    const isQuiet = this.#quiet.isQuiet(`${model}\0${what}`, state, changedMs);
    return isQuiet || this.#atOnce === true || (model !== "" && this.#atOnce === model);
  }
}

/** A model's name and a part of it. */
export type SettledKey = readonly [model: string, what: string | bigint];
