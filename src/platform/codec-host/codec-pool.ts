import { Worker } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import type { CancelSignal } from "../async/cancel-source.ts";
import { createDeferred, type Deferred } from "../async/promises.ts";
import type { MemoryShare } from "../limits/memory/memory-share.ts";
import { processors } from "../machine/container.ts";
import { threadEntry } from "../threads/thread-entry.ts";
import { fromWireError } from "../threads/wire-error.ts";
import type { CodecCommand, CodecEvent } from "./codec-thread.ts";
import { encodingBytes } from "./encoding-bytes.ts";
import type { Job } from "./job.ts";
import { fromJobMessage, type JobMessage, type MayTransfer, toJobMessage } from "./job-message.ts";
import { type JobClient, ShareClock, ShareQueue } from "./share-queue.ts";

/** Memory and time that a job may use. */
export interface JobOptions {
  /** Buffers of the arguments that the caller no longer uses. Default: none. */
  readonly transfer?: MayTransfer | undefined;
  /** Ends the job when it aborts: it leaves the queue, or its thread is terminated. */
  readonly signal?: CancelSignal | undefined;
  /** Counts `scratchBytes` while the job runs. */
  readonly memory?: (Pick<MemoryShare, "hasRoom" | "grow" | "shrink"> & { readonly client?: JobClient }) | undefined;
  /** Largest number of bytes that the job may make. While others run, it waits until there is room for that. */
  readonly scratchBytes?: number;
  /** Bytes that it reads or writes, for its turn. Default: `scratchBytes`, else those of its arguments. */
  readonly costBytes?: number;
}

/** Limits of a pool. */
interface CodecPoolOptions {
  /**
   * Threads at most, but for one that keeps small jobs and large ones from waiting for each other. Default: as many as
   * there are cores, 4 at most.
   */
  readonly maxThreads?: number;
  /** Milliseconds that a thread without work is kept. Default 30 s. */
  readonly idleMs?: number;
}

const NO_BUFFERS: ReadonlySet<ArrayBufferLike> = new Set();
const MAX_THREADS = 4;
const IDLE_MS = 30_000;
/** Larger jobs take a thread for more than some tens of milliseconds. */
const SMALL_JOB_BYTES = 2 * 1024 * 1024;
/** Milliseconds that an abandoned job may go on: starting another thread costs about as much. */
const GRACE_MS = 50;

interface Task {
  readonly job: Job<readonly unknown[], unknown>;
  readonly args: readonly unknown[];
  readonly options: JobOptions;
  readonly isLarge: boolean;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Ends the wait for the signal, which may live much longer: a stream's is that of all its messages. */
  readonly forgetSignal: () => void;
}

/**
 * Threads that decode and encode large messages, so that the main thread never stops for one. They are started when
 * there is work, do one job each at a time, and end after a while without work. Clients take turns by bytes, small jobs
 * and large ones together ({@link ShareQueue}). If either kind waits, one of it runs, so that neither waits for the
 * other.
 */
export class CodecPool {
  /** Large jobs that it does at the same time, at most. */
  maxThreads: number;
  readonly #idleMs: number;
  readonly #idle = new Map<CodecWorker, NodeJS.Timeout>();
  readonly #running = new Map<Task, CodecWorker>();
  readonly #clock = new ShareClock();
  readonly #small = new ShareQueue<Task>(this.#clock);
  readonly #large = new ShareQueue<Task>(this.#clock);

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
      const cost = options.costBytes ?? options.scratchBytes ?? encodingBytes(args, "content");
      const isLarge = cost > SMALL_JOB_BYTES;
      const task = { job, args, options, isLarge, resolve, reject, forgetSignal } as unknown as Task;
      signal?.addEventListener("abort", cancel, { once: true });
      this.#queueOf(task).push(task, { cost, client: options.memory?.client });
      this.#startNext();
    });
  }

  /** Ends the threads that have no work. */
  close(): void {
    for (const worker of this.#idle.keys()) this.#endIdle(worker);
  }

  #queueOf({ isLarge }: Pick<Task, "isLarge">): ShareQueue<Task> {
    return isLarge ? this.#large : this.#small;
  }

  #startNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#queueOf(next).shift();
      void this.#do(next);
    }
  }

  /** The job that may start of the client that had least; one of a kind of which none runs goes before. */
  #next(): Task | undefined {
    const inTurn = this.#small.nextStart <= this.#large.nextStart;
    const [first, second] = inTurn ? [this.#small, this.#large] : [this.#large, this.#small];
    const tasks = [first.peek(), second.peek()].filter((task) => task !== undefined);
    return tasks.find(({ isLarge }) => this.#count(isLarge) === 0) ?? tasks.find((task) => this.#hasRoom(task));
  }

  #count(isLarge: boolean): number {
    let count = 0;
    for (const task of this.#running.keys()) if (task.isLarge === isLarge) count++;
    return count;
  }

  #hasRoom({ options, isLarge }: Task): boolean {
    if (isLarge && this.#count(true) >= this.maxThreads) return false;
    return this.#running.size <= this.maxThreads && fits(options);
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
    this.#queueOf(task).remove(task);
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
  return memory?.hasRoom(scratchBytes) ?? true;
}

/** The threads that all servers of the process share. */
export const codecs = new CodecPool();

/**
 * Heap limits of a thread, in megabytes: budgets keep the objects of the largest message below half of them. Many are
 * new at once, which costs less time in a large young generation.
 */
const LIMITS = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 64 };

/** One codec thread as seen by the main thread. An idle one does not keep the process alive. */
class CodecWorker {
  readonly #worker = new Worker(threadEntry("platform/codec-host/codec-thread-entry"), {
    resourceLimits: LIMITS,
    name: "codec",
  });
  #job: Deferred<JobMessage> | undefined;
  #isOver = false;

  constructor() {
    this.#worker.unref();
    this.#worker.on("message", (event: CodecEvent) => this.#settle(event));
    this.#worker.on("error", (cause: NodeJS.ErrnoException) => this.#fail(endedBy(cause)));
    this.#worker.on("exit", () =>
      this.#fail(
        new ServingError("unavailable", "The thread that reads large messages ended; send the request again."),
      ),
    );
  }

  /** True once the thread can do no more jobs. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Does a job; one at a time. Rejects with the job's error, or with the reason for the thread's end. */
  async run(command: CodecCommand, transfer: ArrayBuffer[]): Promise<JobMessage> {
    const job = createDeferred<JobMessage>();
    this.#job = job;
    this.#worker.ref();
    try {
      this.#worker.postMessage(command, transfer);
      return await job.promise;
    } finally {
      this.#job = undefined;
      this.#worker.unref();
    }
  }

  /** Terminates the thread at any time: it runs only our own JavaScript. */
  end(): void {
    this.#isOver = true;
    void this.#worker.terminate();
  }

  #settle(event: CodecEvent): void {
    if ("result" in event) this.#job?.resolve(event.result);
    else this.#job?.reject(fromWireError(event.failed));
  }

  #fail(reason: ServingError): void {
    this.#isOver = true;
    this.#job?.reject(reason);
  }
}

function endedBy(cause: NodeJS.ErrnoException): ServingError {
  if (cause.code === "ERR_WORKER_OUT_OF_MEMORY") {
    const message = `The message needs more than ${LIMITS.maxOldGenerationSizeMb} MB of memory to be read or written; send a smaller one.`;
    return new ServingError("resource_exhausted", message, { cause });
  }
  return new ServingError("internal", "The thread that reads large messages failed; the server's log has the cause.", {
    cause,
  });
}
