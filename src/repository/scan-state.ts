import type { Logger } from "../observability/logger.ts";
import { DistinctLog } from "./distinct-log.ts";
import { QuietFiles } from "./quiet-files.ts";

/** Models, or folders of them, that a check looks at together: one may be on a server that takes long to answer. */
export const SCANS_AT_ONCE = 32;

/** State that all checks of a repository share, and the options of the present one. */
export class ScanState {
  readonly log: DistinctLog;
  readonly #quiet: QuietFiles;
  #atOnce: boolean | string = true;

  /** `quietMs` is the time without a change after which a file counts as written, in milliseconds. */
  constructor(log: Logger, quietMs: number) {
    this.log = new DistinctLog(log);
    this.#quiet = new QuietFiles(quietMs);
  }

  /** Begins a check; `atOnce` takes files as they are, either for all models or for the model of this name. */
  begin(atOnce: boolean | string): void {
    this.#atOnce = atOnce;
    this.log.nextScan();
    this.#quiet.nextScan();
  }

  /**
   * Checks that the files of a model, or of all (an empty name), are no longer being written: see
   * {@link QuietFiles.isQuiet}.
   */
  isSettled([model, what]: SettledKey, state: string, changedMs?: number): boolean {
    const isQuiet = this.#quiet.isQuiet(`${model}\0${what}`, state, changedMs);
    return isQuiet || this.#atOnce === true || (model !== "" && this.#atOnce === model);
  }
}

/** The name of a part of a model. */
export type SettledKey = readonly [model: string, what: string | bigint];
