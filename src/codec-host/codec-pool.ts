import type { CancelSignal } from "../async/cancel-source.ts";
import { ServingError } from "../errors.ts";
import type { MemoryShare } from "../limits/memory/memory-budget.ts";
import { processors } from "../machine/processors.ts";
import { CodecWorker } from "./codec-worker.ts";
import type { Job } from "./job.ts";
import { fromJobMessage, toJobMessage } from "./job-message.ts";
import type { MayTransfer } from "./move-views.ts";

/** Memory and time that a job may use. */
export interface JobOptions {
  /** Buffers of the arguments that the caller no longer uses. Default: none. */
  readonly transfer?: MayTransfer | undefined;
  /** Ends the job when it aborts: it leaves the queue, or its thread is terminated. */
  readonly signal?: CancelSignal | undefined;
  /** Counts `scratchBytes` while the job runs. */
  readonly memory?: Pick<MemoryShare, "check" | "grow" | "shrink"> | undefined;
  /** Largest number of bytes that the job may make. While others run, it waits until there is room for that. */
  readonly scratchBytes?: number;
}

/** Limits of a pool. */
interface CodecPoolOptions {
  /** Threads at most. Default: as many as there are cores, 4 at most. */
  readonly maxThreads?: number;
  /** Milliseconds that a thread without work is kept. Default 30 s. */
  readonly idleMs?: number;
}

const NO_BUFFERS: ReadonlySet<ArrayBufferLike> = new Set();
const MAX_THREADS = 4;
const IDLE_MS = 30_000;
/** Milliseconds that an abandoned job may go on: starting another thread costs about as much. */
const GRACE_MS = 50;

interface Task {
  readonly job: Job<readonly unknown[], unknown>;
  readonly args: readonly unknown[];
  readonly options: JobOptions;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Ends the wait for the signal, which may live much longer: a stream's is that of all its messages. */
  readonly forgetSignal: () => void;
}

/**
 * Threads that decode and encode large messages, so that the main thread never stops for one. They are started when
 * there is work, do one job each at a time, in the order of arrival, and end after a while without work.
 */
export class CodecPool {
  /** Jobs that it does at the same time, at most. */
  maxThreads: number;
  readonly #idleMs: number;
  readonly #idle = new Map<CodecWorker, NodeJS.Timeout>();
  readonly #running = new Map<Task, CodecWorker>();
  readonly #queue: Task[] = [];

  constructor({ maxThreads = defaultThreads(), idleMs = IDLE_MS }: CodecPoolOptions = {}) {
    this.maxThreads = maxThreads;
    this.#idleMs = idleMs;
  }

  /** Leaves their part of the threads to the pools of as many other threads. */
  share(pools: number): void {
    this.maxThreads = Math.max(1, Math.ceil(this.maxThreads / pools));
  }

  /**
   * Does a job in a thread. Rejects with what it throws; with the signal's reason when that aborts; with
   * `resource_exhausted` when it takes more memory than a thread may have, and
   * `unavailable` when its thread ended otherwise.
   */
  run<Args extends readonly unknown[], Result>(
    job: Job<Args, Result>,
    args: Args,
    options: JobOptions,
  ): Promise<Result> {
    const { signal } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const cancel = () => this.#cancel(task);
      const forgetSignal = () => signal?.removeEventListener("abort", cancel);
      const task = { job, args, options, resolve, reject, forgetSignal } as unknown as Task;
      signal?.addEventListener("abort", cancel, { once: true });
      this.#queue.push(task);
      this.#startNext();
    });
  }

  /** Ends the threads that have no work. */
  close(): void {
    for (const worker of this.#idle.keys()) this.#endIdle(worker);
  }

  #startNext(): void {
    for (let next = this.#queue[0]; next !== undefined && this.#hasRoom(next); next = this.#queue[0]) {
      this.#queue.shift();
      void this.#do(next);
    }
  }

  /** A job alone is always done, as a request alone is always let in. */
  #hasRoom({ options }: Task): boolean {
    return this.#running.size === 0 || (this.#running.size < this.maxThreads && fits(options));
  }

  async #do(task: Task): Promise<void> {
    const { job, args, options, resolve, reject, forgetSignal } = task;
    const { memory, transfer = NO_BUFFERS, scratchBytes = 0 } = options;
    const isCounted = fits(options);
    let worker: CodecWorker;
    try {
      worker = this.#takeWorker();
    } catch (cause) {
      forgetSignal();
      reject(new ServingError("unavailable", "No thread can be started for a large message.", { cause }));
      return;
    }
    this.#running.set(task, worker);
    try {
      if (isCounted) memory?.grow(scratchBytes);
      const message = toJobMessage(args, transfer);
      const command = { module: job.module, name: job.name, args: message.message };
      resolve(fromJobMessage(await worker.run(command, message.transfer)));
    } catch (reason) {
      reject(reason);
    }
    forgetSignal();
    if (isCounted) memory?.shrink(scratchBytes);
    this.#running.delete(task);
    this.#keep(worker);
    this.#startNext();
  }

  #cancel(task: Task): void {
    const place = this.#queue.indexOf(task);
    if (place >= 0) this.#queue.splice(place, 1);
    task.reject(task.options.signal?.reason);
    if (this.#running.has(task)) setTimeout(() => this.#running.get(task)?.end(), GRACE_MS);
  }

  #takeWorker(): CodecWorker {
    for (const [worker, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(worker);
      if (!worker.isOver) return worker;
    }
    return new CodecWorker();
  }

  #keep(worker: CodecWorker): void {
    if (worker.isOver) return;
    const timer = setTimeout(() => this.#endIdle(worker), this.#idleMs);
    timer.unref();
    this.#idle.set(worker, timer);
  }

  #endIdle(worker: CodecWorker): void {
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
    worker.end();
  }
}

function defaultThreads(): number {
  return Math.min(processors(), MAX_THREADS);
}

function fits({ memory, scratchBytes = 0 }: JobOptions): boolean {
  try {
    memory?.check(scratchBytes);
    return true;
  } catch {
    return false;
  }
}
