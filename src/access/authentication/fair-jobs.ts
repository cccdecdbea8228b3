import { ServingError } from "../../errors.ts";

/** Jobs that may wait. */
const MAX_WAITING = 256;

/**
 * Runs costly jobs one at a time, those of each address in turn, so that one that has
 * many does not keep the others waiting.
 */
export class FairJobs {
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #count = 0;
  #isRunning = false;

  /** Runs a job of an address; throws `unavailable` where too many wait. */
  run<Result>(address: string, job: () => Promise<Result>): Promise<Result> {
    if (this.#count >= MAX_WAITING)
      throw new ServingError("unavailable", "Too many passwords wait to be checked; try again later.");
    this.#count++;
    return new Promise((resolve, reject) => {
      const jobs = this.#waiting.get(address) ?? [];
      jobs.push(() => job().then(resolve, reject));
      this.#waiting.set(address, jobs);
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (const [address, jobs] of this.#turns()) {
      const job = jobs.shift();
      this.#waiting.delete(address);
      if (jobs.length > 0) this.#waiting.set(address, jobs);
      await job?.();
      this.#count--;
    }
    this.#isRunning = false;
  }

  /** A map's iterator goes on to what is added while it runs. */
  #turns(): IterableIterator<[string, (() => Promise<void>)[]]> {
    return this.#waiting.entries();
  }
}
