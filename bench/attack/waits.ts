import { quantile } from "../../test/helpers/quantile.ts";
import { ConnectionThreads, mostOf, type SchedulerTimes } from "./connection-threads.ts";
import type { NeighbourReport } from "./neighbour-report.ts";

/** Threads whose missing cores are no fault of the server: its own, and the client's. */
export class WatchedThreads {
  readonly #server: ConnectionThreads;
  readonly #self = new ConnectionThreads(process.pid);

  constructor(pid: number) {
    this.#server = new ConnectionThreads(pid);
  }

  times(): Times {
    return { server: this.#server.times(), self: this.#self.times() };
  }

  close(): void {
    this.#server.close();
    this.#self.close();
  }
}

interface Times {
  readonly server: readonly SchedulerTimes[];
  readonly self: readonly SchedulerTimes[];
}

interface Start {
  readonly at: number;
  readonly times: Times;
}

/** Collects how long requests waited, those among them that still do. */
export class Waits {
  readonly #threads: WatchedThreads;
  readonly #open = new Set<Start>();
  readonly #failures: string[] = [];
  #requests = 0;
  #refused = 0;
  #longest = 0;
  #longestOwn = 0;
  #longestBusy = 0;
  #own: number[] = [0];

  constructor(threads: WatchedThreads) {
    this.#threads = threads;
  }

  /** Notes a request that is sent now; the function takes its outcome: nothing, a refusal or a failure's text. */
  begin(): (outcome: "ok" | "refused" | { readonly failure: string }) => void {
    const start = { at: performance.now(), times: this.#threads.times() };
    this.#open.add(start);
    return (outcome) => {
      this.#open.delete(start);
      this.#count(start);
      this.#requests++;
      if (outcome === "refused") this.refuse();
      else if (outcome !== "ok") this.#failures.push(outcome.failure);
    };
  }

  /** Notes a refusal of a request that is sent once more. */
  refuse(): void {
    this.#refused++;
  }

  /** Waits since the last report. */
  report(): NeighbourReport {
    for (const start of this.#open) this.#count(start);
    const report = {
      requests: this.#requests,
      longestMs: this.#longest,
      longestOwnMs: this.#longestOwn,
      longestBusyMs: this.#longestBusy,
      p99OwnMs: quantile(
        this.#own.sort((a, b) => a - b),
        0.99,
      ),
      refused: this.#refused,
      failures: this.#failures.splice(0),
    };
    [this.#requests, this.#refused] = [0, 0];
    [this.#longest, this.#longestOwn, this.#longestBusy] = [0, 0, 0];
    this.#own = [0];
    return report;
  }

  #count({ at, times }: Start): void {
    const wait = performance.now() - at;
    const now = this.#threads.times();
    const server = mostOf(times.server, now.server);
    const delayMs = server.delayMs + mostOf(times.self, now.self).delayMs;
    this.#longest = Math.max(this.#longest, wait);
    this.#longestOwn = Math.max(this.#longestOwn, wait - delayMs);
    this.#own.push(wait - delayMs);
    this.#longestBusy = Math.max(this.#longestBusy, server.busyMs);
  }
}
