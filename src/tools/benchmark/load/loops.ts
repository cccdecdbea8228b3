import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { createDeferred } from "../../../platform/async/promises.ts";
import { threadEntry } from "../../../platform/threads/thread-entry.ts";
import type { LoadBatch, LoadJob } from "./load-job.ts";
import type { Sender } from "./senders.ts";

/** Begins the loop of a job. */
export function createLoop(parts: LoopParts): Loop {
  return parts.job.rate === undefined ? new ClosedLoop(parts) : new OpenLoop(parts, parts.job.rate);
}

/** Milliseconds before a request follows one that failed: a server that refuses at once is not to be flooded. */
const PAUSE_MS = 10;

/** Keeps a number of requests open: each is followed by the next as soon as it is over. */
class ClosedLoop implements Loop {
  readonly begun = Promise.resolve();
  readonly backlog = 0;
  readonly #parts: LoopParts;
  #isOver = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    for (let slot = 0; slot < parts.job.concurrency; slot++) this.#next();
  }

  stop(): void {
    this.#isOver = true;
  }

  #next(): void {
    if (this.#isOver) return;
    const { sender, meter } = this.#parts;
    const started = performance.now();
    sender.send((problem) => {
      if (this.#isOver) return;
      meter.add(performance.now() - started, problem);
      if (problem === undefined) this.#next();
      else setTimeout(() => this.#next(), PAUSE_MS);
    });
  }
}

/**
 * Begins requests at fixed times, whatever becomes of earlier ones. A request's latency counts from the time at which
 * it was due: a server that stops for a second delays all requests of that second, also those that could not be sent
 * meanwhile, and all of them are in the percentiles.
 */
class OpenLoop implements Loop {
  readonly #parts: LoopParts;
  readonly #rate: number;
  readonly #ticker: Ticker;
  readonly #begun = createDeferred<void>();
  #started = 0;
  #due = 0;
  #sent = 0;
  #open = 0;
  #isOver = false;

  constructor(parts: LoopParts, rate: number) {
    this.#parts = parts;
    this.#rate = rate;
    this.#ticker = new Ticker(rate, () => this.#tick());
  }

  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  get backlog(): number {
    return this.#due - this.#sent;
  }

  stop(): void {
    this.#isOver = true;
    this.#ticker.stop();
  }

  #tick(): void {
    if (this.#started === 0) this.#started = performance.now();
    this.#begun.resolve();
    this.#due = Math.floor(((performance.now() - this.#started) / 1000) * this.#rate) + 1;
    this.#sendDue();
  }

  #sendDue(): void {
    while (this.#sent < this.#due && this.#open < this.#parts.job.concurrency && !this.#isOver) {
      this.#send(this.#started + (this.#sent / this.#rate) * 1000);
    }
  }

  #send(dueAt: number): void {
    this.#sent++;
    this.#open++;
    this.#parts.sender.send((problem) => {
      this.#open--;
      if (this.#isOver) return;
      this.#parts.meter.add(performance.now() - dueAt, problem);
      this.#sendDue();
    });
  }
}

/** Ticks per second at most: a thread that sends more than one request at a time still keeps its rate. */
const MAX_TICKS = 2000;

/** Calls back at a rate, exact to a tenth of a millisecond, while a timer of Node is exact to one or two. */
class Ticker {
  readonly #worker: Worker;

  constructor(perSecond: number, onTick: () => void) {
    const everyMs = 1000 / Math.min(perSecond, MAX_TICKS);
    this.#worker = new Worker(threadEntry("tools/benchmark/load/ticker-thread-entry"), { workerData: { everyMs } });
    this.#worker.on("message", onTick);
  }

  stop(): void {
    void this.#worker.terminate();
  }
}

/** The parts that a loop works with. */
interface LoopParts {
  readonly job: LoadJob;
  readonly sender: Sender;
  readonly meter: LoadMeter;
}

/** Decides when requests are sent. */
interface Loop {
  /** Resolves once it has begun, which may take a thread's start. */
  readonly begun: Promise<void>;
  /** Requests that are due and not sent. */
  readonly backlog: number;
  /** Sends no further requests, and measures none. */
  stop(): void;
}

/** Collects the measurements of a thread into batches. */
export class LoadMeter {
  readonly #latencies: number[] = [];
  #failures: Record<string, number> = {};
  #since = performance.now();
  #utilization: EventLoopUtilization = performance.eventLoopUtilization();

  /** Counts a request that is over and took so long. */
  add(latencyMs: number, problem: string | undefined): void {
    if (problem === undefined) this.#latencies.push(latencyMs);
    else this.#failures[problem] = (this.#failures[problem] ?? 0) + 1;
  }

  /** The measurements since the last batch. */
  take(backlog: number): LoadBatch {
    const [now, utilization] = [performance.now(), performance.eventLoopUtilization()];
    const batch = {
      seconds: (now - this.#since) / 1000,
      latenciesMs: Float64Array.from(this.#latencies),
      failures: this.#failures,
      busyShare: performance.eventLoopUtilization(utilization, this.#utilization).utilization,
      backlog,
    };
    this.#latencies.length = 0;
    this.#failures = {};
    this.#since = now;
    this.#utilization = utilization;
    return batch;
  }
}
