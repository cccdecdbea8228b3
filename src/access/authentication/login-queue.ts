import { ServingError } from "../../errors.ts";

/** Jobs that may wait. */
const MAX_WAITING = 256;

interface Job {
  /** Earlier attempts of its client of which none was right. */
  readonly attempts: number;
  run(): Promise<void>;
  drop(reason: ServingError): void;
}

/**
 * Runs costly jobs one at a time: first those of clients that have made the fewest attempts, of equal ones the newest,
 * so that a quiet client waits for the job that runs, however many others send. Where too many wait, the oldest of
 * those with the most attempts is dropped.
 */
export class LoginQueue {
  readonly #waiting: Job[] = [];
  #isRunning = false;

  /** Runs a job of a client with so many attempts; rejects with `unavailable` where it is dropped. */
  run<Result>(attempts: number, job: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempts, run: () => job().then(resolve, reject), drop: reject });
      if (this.#waiting.length > MAX_WAITING) this.#take(isMore).drop(tooMany());
      if (!this.#isRunning) void this.#runAll();
    });
  }

  /** Drops all that wait, which a server that ends would wait for. */
  clear(): void {
    for (const job of this.#waiting.splice(0)) job.drop(tooMany());
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await this.#take(isNotMore).run();
    this.#isRunning = false;
  }

  /** Takes the first of those that no other one goes before. */
  #take(goesBefore: (one: Job, other: Job) => boolean): Job {
    let at = 0;
    for (let index = 1; index < this.#waiting.length; index++)
      if (goesBefore(this.#waiting[index] as Job, this.#waiting[at] as Job)) at = index;
    return this.#waiting.splice(at, 1)[0] as Job;
  }
}

function isMore(one: Job, other: Job): boolean {
  return one.attempts > other.attempts;
}

function isNotMore(one: Job, other: Job): boolean {
  return one.attempts <= other.attempts;
}

function tooMany(): ServingError {
  return new ServingError("unavailable", "Too many passwords wait to be checked; try again later.");
}
