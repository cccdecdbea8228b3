import { reasonText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { Backoff } from "../../platform/async/backoff.ts";
import { unlessAborted } from "../../platform/async/cancel-source.ts";
import type { PythonRequest, PythonResponse } from "./conversation.ts";
import type { PythonProcess } from "./python-process.ts";

/** The waits before a process that ended is started again. */
const BACKOFF = { firstMs: 100, maxMs: 30_000 };

/** Starts a process and loads the model in it, and ends the process if the signal aborts meanwhile. */
export type StartProcess = (signal: AbortSignal) => Promise<PythonProcess>;

/** A request that waits for a process. */
interface Waiter {
  resolve(process: PythonProcess): void;
  reject(reason: ServingError): void;
}

/** A Python process with a model in it, which is started again when it ends. */
export class SupervisedProcess {
  readonly #start: StartProcess;
  readonly #log: Logger;
  readonly #backoff = new Backoff(BACKOFF);
  readonly #waiting: Waiter[] = [];
  #alive: PythonProcess | undefined;
  /** Answers in parts that are under way. */
  #streams = 0;
  #lastStream = 0;
  /** The error of the last attempt to restart it. */
  #failure: ServingError | undefined;
  #retry: NodeJS.Timeout | undefined;
  #starting: Promise<void> | undefined;
  readonly #closing = new AbortController();

  /** Takes over a process in which the model is loaded. */
  constructor(process: PythonProcess, start: StartProcess, log: Logger) {
    this.#start = start;
    this.#log = log;
    this.#supervise(process);
  }

  /** True while it can answer. */
  get isReady(): boolean {
    return this.#alive?.isRunning ?? false;
  }

  /** Its number; undefined while it is started again. */
  get pid(): number | undefined {
    return this.isReady ? this.#alive?.pid : undefined;
  }

  /** Number of open requests and answers in parts; without a process, more than any process has. */
  get load(): number {
    return this.#alive?.isRunning ? this.#alive.pending + this.#streams : Number.MAX_SAFE_INTEGER;
  }

  /**
   * Asks; waits for a process that is being started. Rejects with `unavailable` if
   * that has failed, or the process ends meanwhile.
   */
  async ask(request: PythonRequest): Promise<PythonResponse> {
    // At once, if it runs: the next request asks which process has most.
    return this.#askOf(this.#alive?.isRunning ? this.#alive : await this.#next(), request);
  }

  /**
   * Asks for an answer in parts, each of which the process makes once it is asked for it. All are of one process:
   * rejects with `unavailable` if that ends meanwhile. The process ends one that is left, or whose signal aborts.
   */
  async *askParts(request: PythonRequest, signal: AbortSignal): AsyncGenerator<PythonResponse, void, undefined> {
    this.#streams++;
    this.#lastStream = (this.#lastStream + 1) >>> 0;
    try {
      const context = this.#lastStream;
      const process = await unlessAborted(this.#running(), signal);
      yield* eachPart((asked) => this.#askOf(process, { ...asked, context }), request, signal);
    } catch (reason) {
      throw ServingError.from(reason);
    } finally {
      this.#streams--;
    }
  }

  /** Ends the process, after its model has closed. */
  async close(): Promise<void> {
    this.#closing.abort(closed());
    clearTimeout(this.#retry);
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    await this.#alive?.close();
    await this.#starting;
  }

  /** A process that has answered is started again at once if it ends, however long its stream was to be. */
  async #askOf(process: PythonProcess, request: PythonRequest): Promise<PythonResponse> {
    const answer = await process.ask(request);
    this.#backoff.reset();
    return answer;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #running(): Promise<PythonProcess> {
    return this.#alive?.isRunning ? this.#alive : this.#next();
  }

  #next(): Promise<PythonProcess> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #supervise(process: PythonProcess): void {
    this.#alive = process;
    this.#failure = undefined;
    for (const { resolve } of this.#waiting.splice(0)) resolve(process);
    void process.ended.then((why) => {
      this.#alive = undefined;
      if (!this.#isClosed) this.#startLater(`the model's Python process ${why}`, process.lastWords);
    });
  }

  #startLater(why: string, cause: unknown): void {
    const againInMs = this.#backoff.next();
    this.#log.error(`${why}; it is started again`, { againInMs, err: cause });
    this.#retry = setTimeout(() => {
      this.#starting = this.#startAgain();
    }, againInMs);
  }

  async #startAgain(): Promise<void> {
    try {
      const process = await this.#start(this.#closing.signal);
      if (this.#isClosed) await process.close();
      else this.#supervise(process);
    } catch (cause) {
      if (this.#isClosed) return;
      const message = "The model's Python process has ended and could not be started again; the server's log says why.";
      this.#failure = new ServingError("unavailable", message, { cause });
      for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
      this.#startLater(`the model could not be loaded again: ${reasonText(cause)}`, cause);
    }
  }
}

type Ask = (request: PythonRequest) => Promise<PythonResponse>;

async function* eachPart(
  ask: Ask,
  first: PythonRequest,
  signal: AbortSignal,
): AsyncGenerator<PythonResponse, void, undefined> {
  let isOpen = true;
  try {
    for (let request = first; ; request = { op: "next" }) {
      signal.throwIfAborted();
      const answer = await unlessAborted(ask(request), signal);
      isOpen = answer.result !== null;
      if (!isOpen) return;
      yield answer;
    }
  } catch (reason) {
    isOpen = false;
    await ask({ op: "leave" }).catch(() => {});
    throw reason;
  } finally {
    if (isOpen) await ask({ op: "leave" });
  }
}

function closed(): ServingError {
  return new ServingError("unavailable", "The model is closed.");
}
