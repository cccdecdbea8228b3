import { settlesWithin } from "../../async/settles-within.ts";
import { type RunStatistics, sumStatistics } from "../queue/run-statistics.ts";

/** Milliseconds that a model's thread has to tell its statistics: one that works for longer, or is stuck, is told of as it was last. */
const TELL_MS = 500;

/** Statistics of one copy of a model, which its thread tells when it can. */
export class ToldStatistics {
  readonly #ask: () => Promise<RunStatistics>;
  /** Those of threads that this one has replaced. */
  readonly #before: RunStatistics;
  #last = sumStatistics([]);
  #asked: Promise<void> | undefined;

  constructor(ask: () => Promise<RunStatistics>, before = sumStatistics([])) {
    this.#ask = ask;
    this.#before = before;
  }

  /** As they were told last. */
  get known(): RunStatistics {
    return sumStatistics([this.#before, this.#last]);
  }

  /** As they are now, or as they were told last. */
  async read(): Promise<RunStatistics> {
    this.#asked ??= this.#tell();
    await settlesWithin(this.#asked, TELL_MS);
    return this.known;
  }

  /** A thread that is lost tells nothing more, and what it has told stays true. */
  async #tell(): Promise<void> {
    try {
      this.#last = await this.#ask();
    } catch {
    } finally {
      this.#asked = undefined;
    }
  }
}
