import { MainThread } from "./main-thread.ts";
import type { NeighbourReport } from "./neighbour-report.ts";

interface Start {
  readonly at: number;
  readonly delayMs: number;
  readonly busyMs: number;
}

/** Collects how long requests waited, those among them that still do. */
export class Waits {
  readonly #server: MainThread;
  readonly #self = new MainThread(process.pid);
  readonly #open = new Set<Start>();
  readonly #failures: string[] = [];
  #requests = 0;
  #refused = 0;
  #longest = 0;
  #longestOwn = 0;
  #longestBusy = 0;

  constructor(serverPid: number) {
    this.#server = new MainThread(serverPid);
  }

  /** Notes a request that is sent now; the function takes its outcome: nothing, a refusal or a failure's text. */
  begin(): (outcome: "ok" | "refused" | { readonly failure: string }) => void {
    const start = { at: performance.now(), ...this.#times() };
    this.#open.add(start);
    return (outcome) => {
      this.#open.delete(start);
      this.#count(start);
      this.#requests++;
      if (outcome === "refused") this.#refused++;
      else if (outcome !== "ok") this.#failures.push(outcome.failure);
    };
  }

  /** Waits since the last report. */
  report(): NeighbourReport {
    for (const start of this.#open) this.#count(start);
    const report = {
      requests: this.#requests,
      longestMs: this.#longest,
      longestOwnMs: this.#longestOwn,
      longestBusyMs: this.#longestBusy,
      refused: this.#refused,
      failures: this.#failures.splice(0),
    };
    [this.#requests, this.#refused] = [0, 0];
    [this.#longest, this.#longestOwn, this.#longestBusy] = [0, 0, 0];
    return report;
  }

  #count({ at, delayMs, busyMs }: Start): void {
    const wait = performance.now() - at;
    const now = this.#times();
    this.#longest = Math.max(this.#longest, wait);
    this.#longestOwn = Math.max(this.#longestOwn, wait - (now.delayMs - delayMs));
    this.#longestBusy = Math.max(this.#longestBusy, now.busyMs - busyMs);
  }

  #times(): { delayMs: number; busyMs: number } {
    const { busyMs, delayMs } = this.#server.times();
    return { busyMs, delayMs: delayMs + this.#self.times().delayMs };
  }
}
