import type { MessagePort } from "node:worker_threads";
import { Backoff } from "../../async/backoff.ts";
import { reasonText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { MalformedListener } from "../../threads/malformed-message.ts";
import type { ModelThreadData } from "./model-thread.ts";
import { type ModelThread, startModelThread } from "./start-model-thread.ts";

/** The waits before a thread that cannot be started is tried again. */
const BACKOFF = { firstMs: 100, maxMs: 30_000 };

/** Told when an instance has a new thread, so that its users connect anew. */
export type ReplacedListener = (instance: number, thread: ModelThread) => void;

/** One instance of a model, which gets a new thread when its own ends or gets stuck. */
export class SupervisedModel {
  readonly #instance: number;
  readonly #data: ModelThreadData;
  readonly #log: Logger;
  readonly #onReplaced: ReplacedListener;
  #thread: ModelThread;
  /** Stuck threads that have not come back. */
  readonly #stuck = new Set<ModelThread>();
  #alive = true;
  #closed = false;

  private constructor(instance: number, thread: ModelThread, parts: SupervisedParts) {
    this.#instance = instance;
    this.#thread = thread;
    this.#data = parts.data;
    this.#log = parts.log;
    this.#onReplaced = parts.onReplaced;
    this.#supervise(thread);
  }

  /** Loads the model in a thread; throws what loading threw. */
  static async start(instance: number, parts: SupervisedParts): Promise<SupervisedModel> {
    return new SupervisedModel(instance, await startModelThread(parts.data, parts.log), parts);
  }

  get thread(): ModelThread {
    return this.#thread;
  }

  /** True while it can answer. */
  get isAlive(): boolean {
    return this.#alive;
  }

  /** A new line to the model. */
  connect(onMalformed?: MalformedListener): MessagePort {
    return this.#thread.connect(onMalformed);
  }

  /** Waits for the last predict, then frees the model; throws `deadline_exceeded` when a thread is still stuck in native code. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#alive) await this.#thread.close();
    if (this.#stuck.size === 0) return;
    const { driver } = this.#thread.facts;
    throw new ServingError(
      "deadline_exceeded",
      `A run of the ${driver} model has not come back; its thread cannot be ended.`,
    );
  }

  /** A stuck thread is left alone: terminating it inside native code would end the process. */
  #supervise(thread: ModelThread): void {
    void thread.lost.then((why) => {
      if (this.#closed) return;
      this.#alive = false;
      this.#stuck.add(thread);
      void thread.ended.then(() => this.#stuck.delete(thread));
      // Only a message: one that comes back reads it, frees its model and ends.
      void thread.close();
      this.#log.error(`a model's thread ${why} and is replaced`, {
        driver: thread.facts.driver,
        path: thread.facts.path,
      });
      void this.#replace(new Backoff(BACKOFF));
    });
  }

  async #replace(backoff: Backoff): Promise<void> {
    if (this.#closed) return;
    try {
      const thread = await startModelThread(this.#data, this.#log);
      if (this.#closed) return await thread.close();
      this.#thread = thread;
      this.#alive = true;
      this.#supervise(thread);
      this.#onReplaced(this.#instance, thread);
    } catch (reason) {
      const againInMs = backoff.next();
      this.#log.error(`the model could not be loaded again: ${reasonText(reason)}`, { err: reason, againInMs });
      setTimeout(() => void this.#replace(backoff), againInMs).unref();
    }
  }
}

/** Parts of an instance. */
export interface SupervisedParts {
  readonly data: ModelThreadData;
  readonly log: Logger;
  readonly onReplaced: ReplacedListener;
}
