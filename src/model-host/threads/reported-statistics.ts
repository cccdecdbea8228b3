import { settlesWithin } from "../../async/promises.ts";
import { type RunStatistics, sumStatistics } from "../queue/run-statistics.ts";

/**
 * Time that a model's thread has to report its statistics, in milliseconds; the last
 * known ones of a busy or stuck thread are used.
 */
const REPORT_MS = 500;

/** Statistics of one copy of a model, as its thread reports them. */
export class ReportedStatistics {
  readonly #ask: () => Promise<RunStatistics>;
  /** Those of threads that this one has replaced. */
  readonly #before: RunStatistics;
  #last = sumStatistics([]);
  #asked: Promise<void> | undefined;

  constructor(ask: () => Promise<RunStatistics>, before = sumStatistics([])) {
    this.#ask = ask;
    this.#before = before;
  }

  /** As of the last report. */
  get known(): RunStatistics {
    return sumStatistics([this.#before, this.#last]);
  }

  /** As they are now, or as of the last report. */
  async read(): Promise<RunStatistics> {
    this.#asked ??= this.#update();
    await settlesWithin(this.#asked, REPORT_MS);
    return this.known;
  }

  /** The last report of a lost thread stays valid. */
  async #update(): Promise<void> {
    try {
      this.#last = await this.#ask();
    } catch {
    } finally {
      this.#asked = undefined;
    }
  }
}
