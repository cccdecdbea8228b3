import { Worker } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import { createDeferred, type Deferred } from "../async/promises.ts";
import { threadEntry } from "../threads/thread-entry.ts";
import { fromWireError } from "../threads/wire-error.ts";
import type { CodecCommand, CodecEvent } from "./codec-thread.ts";
import type { JobMessage } from "./job-message.ts";

/**
 * Heap limits of a thread, in megabytes: budgets keep the objects of the largest message below half of them. Many are
 * new at once, which costs less time in a large young generation.
 */
const LIMITS = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 64 };

/** One codec thread as seen by the main thread. An idle one does not keep the process alive. */
export class CodecWorker {
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
