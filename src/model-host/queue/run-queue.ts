import { ServingError } from "../../errors.ts";
import type { Tensors } from "../../tensor/tensor.ts";
import type { ModelCall } from "../model-handle.ts";
import { insertByPriority } from "./insert-by-priority.ts";
import { RunCounter, type RunStatistics } from "./run-statistics.ts";

/** One predict that waits for its turn. */
export interface QueuedRun {
  readonly inputs: Tensors;
  readonly call: ModelCall;
  /** 1 = highest; 0 = none, after all others. */
  readonly priority: number;
  /** When it began to wait, on the clock of performance.now(). */
  readonly since: number;
  readonly resolve: (outputs: Tensors) => void;
  readonly reject: (reason: unknown) => void;
}

/** Takes runs off the front of a queue and runs them together; without batching, one at a time. */
export interface RunPolicy {
  /** Removes at least one run from `waiting`, in their order, and returns what goes together. */
  take(waiting: QueuedRun[]): QueuedRun[];
  /** Whether several may go together, so that what else comes in this turn of the event loop is worth waiting for. */
  readonly gathers: boolean;
  /** How long to wait for more before `waiting` is taken from, in milliseconds; 0 = not at all. */
  lingerMs(waiting: readonly QueuedRun[]): number;
  /** Rows that a run counts for; 1 without batching. */
  rowsOf(run: QueuedRun): number;
  /** Runs what was taken, and settles each. */
  run(taken: readonly QueuedRun[]): Promise<void>;
}

/** How long runs may follow one another without a turn of the event loop, in milliseconds; the turn itself costs some microseconds. */
const TURN_MS = 1;

/** Where the predicts of a model wait for their turn: by priority, then in the order they came. A run whose signal aborts leaves before it costs anything. */
export class RunQueue {
  readonly #policy: RunPolicy;
  readonly #concurrency: number;
  readonly #waiting: QueuedRun[] = [];
  readonly #counter = new RunCounter();
  readonly #idleListeners: (() => void)[] = [];
  #running = 0;
  #turnedAt = 0;
  #lingering: NodeJS.Timeout | undefined;
  #gathering: NodeJS.Immediate | undefined;

  constructor(policy: RunPolicy, concurrency: number) {
    this.#policy = policy;
    this.#concurrency = concurrency;
  }

  /** Runs a predict when its turn comes; rejects with the signal's reason when that aborts first. */
  push(inputs: Tensors, call: ModelCall): Promise<Tensors> {
    const { signal, priority = 0, queueTimeoutMs = 0 } = call;
    if (signal.aborted) return Promise.reject(signal.reason);
    const since = performance.now();
    if (this.#isFree)
      return new Promise((resolve, reject) => void this.#run([{ inputs, call, priority, since, resolve, reject }]));
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        const index = this.#waiting.indexOf(run);
        if (index < 0) return;
        this.#waiting.splice(index, 1);
        run.reject(reason);
        this.#tellIdle();
      };
      const abort = () => leave(signal.reason);
      const timer =
        queueTimeoutMs === 0 ? undefined : setTimeout(() => leave(waitedTooLong(queueTimeoutMs)), queueTimeoutMs);
      const forget = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      const run: QueuedRun = {
        inputs,
        call,
        priority,
        since,
        resolve: (outputs) => {
          forget();
          resolve(outputs);
        },
        reject: (reason) => {
          forget();
          reject(reason);
        },
      };
      signal.addEventListener("abort", abort, { once: true });
      insertByPriority(this.#waiting, run);
      this.#pumpSoon();
    });
  }

  /** What its runs took until now. */
  statistics(): RunStatistics {
    return this.#counter.statistics();
  }

  /** Resolves once nothing runs and nothing waits. */
  async idle(): Promise<void> {
    if (this.#running === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  /** Whether a run need not wait for its turn, nor for company. */
  get #isFree(): boolean {
    return this.#waiting.length === 0 && this.#running < this.#concurrency && !this.#policy.gathers;
  }

  /** Where runs go together, once everything that has come is in the queue. */
  #pumpSoon(): void {
    if (!this.#policy.gathers) {
      this.#pump();
      return;
    }
    this.#gathering ??= setImmediate(() => {
      this.#gathering = undefined;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#running < this.#concurrency && this.#waiting.length > 0) {
      const lingerMs = this.#policy.lingerMs(this.#waiting);
      if (lingerMs > 0) {
        this.#linger(lingerMs);
        return;
      }
      void this.#run(this.#policy.take(this.#waiting));
    }
  }

  #linger(ms: number): void {
    this.#lingering ??= setTimeout(() => {
      this.#lingering = undefined;
      this.#pump();
    }, ms);
  }

  async #run(taken: readonly QueuedRun[]): Promise<void> {
    this.#running++;
    const started = performance.now();
    await this.#policy.run(taken);
    const ended = performance.now();
    this.#count(taken, started, ended - started);
    // A driver that never waits would keep the thread from hearing of cancelled and new requests.
    if (this.#waiting.length > 0 && !this.#policy.gathers && ended - this.#turnedAt > TURN_MS) await this.#turn();
    this.#running--;
    this.#pumpSoon();
    this.#tellIdle();
  }

  #count(taken: readonly QueuedRun[], started: number, ms: number): void {
    let [rows, queueMs] = [0, 0];
    for (const run of taken) {
      rows += this.#policy.rowsOf(run);
      queueMs += started - run.since;
    }
    this.#counter.add({ requests: taken.length, rows, queueMs, ms });
  }

  async #turn(): Promise<void> {
    await new Promise(setImmediate);
    this.#turnedAt = performance.now();
  }

  #tellIdle(): void {
    if (this.#running === 0 && this.#waiting.length === 0)
      for (const listener of this.#idleListeners.splice(0)) listener();
  }
}

function waitedTooLong(queueTimeoutMs: number): ServingError {
  return new ServingError(
    "unavailable",
    `The request waited ${queueTimeoutMs} ms for its turn, which is as long as it may.`,
  );
}

/** Runs each predict alone. */
export function oneAtATime(predict: (inputs: Tensors, call: ModelCall) => Promise<Tensors>): RunPolicy {
  return {
    take: (waiting) => waiting.splice(0, 1),
    gathers: false,
    lingerMs: () => 0,
    rowsOf: () => 1,
    run: ([run]) => {
      const { inputs, call, resolve, reject } = run as QueuedRun;
      return predict(inputs, call).then(resolve, reject);
    },
  };
}
