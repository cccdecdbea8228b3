import { MessageChannel, type MessagePort } from "node:worker_threads";
import { reasonText, ServingError } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ThreadStates } from "../../observability/thread-states.ts";
import { Backoff } from "../../platform/async/backoff.ts";
import { settlesWithin } from "../../platform/async/promises.ts";
import { type HostPort, type MalformedListener, toHostPort } from "../../platform/threads/host-port.ts";
import type { LostThread } from "./lost-thread.ts";
import type { ModelThread } from "./model-thread.ts";
import type { ModelThreadData } from "./model-thread-messages.ts";
import { type StartModelThread, startModelThread } from "./start-model-thread.ts";

/** The waits before a thread that cannot be started is tried again. */
const BACKOFF = { firstMs: 100, maxMs: 30_000 };
/**
 * The waits before a process is started again that its model ends again and again: short ones, since requests that end
 * it, and their clients, are refused, and all others wait for it.
 */
const END_BACKOFF = { firstMs: 50, maxMs: 2000 };
/** A process that lived for so many milliseconds is replaced at once. */
const STEADY_MS = 10_000;

/** Time in which a thread that has come back frees its model, in milliseconds. */
const LEAVE_MS = 1000;

/**
 * Called when an instance has a new thread, so that its users connect again. With `resend` they send their earlier
 * requests again, which have not run, or not to their end: a thread may have come back meanwhile.
 */
export type ReplacedListener = (instance: number, thread: ModelThread, resend: boolean) => void;

/** One instance of a model, which gets a new thread, or process, when its own ends or gets stuck. */
export class SupervisedModel {
  readonly #instance: number;
  readonly #data: ModelThreadData;
  readonly #log: Logger;
  readonly #onReplaced: ReplacedListener;
  readonly #start: StartModelThread;
  readonly #startAlone: StartModelThread;
  readonly #ends = new Backoff(END_BACKOFF);
  readonly #runFirst: NonNullable<SupervisedParts["runFirst"]>;
  #thread: ModelThread;
  /** Stuck threads that have not come back. */
  readonly #stuck = new Set<ModelThread>();
  #alive = true;
  /** Threads that were lost, and processes of the server that the model ended. */
  #lost: number;
  /** Processes that ended one after the other before they had lived for {@link STEADY_MS}. */
  #endsInRow = 0;
  #refusal: ServingError | undefined;
  /** Tells the thread that was lost last to free its model; true if it had not been told. */
  #leave: () => boolean = () => false;
  #closed = false;

  private constructor(instance: number, thread: ModelThread, parts: SupervisedParts) {
    this.#instance = instance;
    this.#thread = thread;
    this.#data = parts.data;
    this.#log = parts.log;
    this.#onReplaced = parts.onReplaced;
    this.#lost = parts.lostBefore ?? 0;
    this.#startAlone = parts.startAlone ?? startModelThread;
    this.#start = parts.start ?? this.#startAlone;
    this.#runFirst = parts.runFirst ?? (async () => {});
    this.#supervise(thread);
  }

  /** Loads the model in a thread; throws what loading threw. */
  static async start(instance: number, parts: SupervisedParts): Promise<SupervisedModel> {
    const { startAlone = startModelThread, start = startAlone, data, log, signal } = parts;
    return new SupervisedModel(instance, await start(data, log, signal), parts);
  }

  get thread(): ModelThread {
    return this.#thread;
  }

  /** True while it can answer. */
  get isReady(): boolean {
    return this.#alive && (this.#thread.processes?.()?.isReady ?? true);
  }

  /** The error of requests while its process has ended and no other is there yet; undefined otherwise. */
  get refusal(): ServingError | undefined {
    return this.#alive ? undefined : this.#refusal;
  }

  /** Its thread, which other small models may share, or its process. */
  get threads(): ThreadStates {
    const lost = this.#lost;
    if (!this.#alive) return { ready: 0, missing: 1, lost };
    const { pid, processes } = this.#thread;
    const pids = [...(pid === undefined ? [] : [pid]), ...(processes?.()?.pids ?? [])];
    return { ready: 1, missing: 0, lost, ...(pids.length > 0 && { pids }) };
  }

  /** A new port to the model. */
  connect(onMalformed?: MalformedListener): MessagePort {
    return this.#thread.connect(onMalformed);
  }

  /** A new port to the model for this thread. */
  connectHere(): HostPort {
    return this.#thread.connectHere();
  }

  /**
   * Waits for the last predict, then frees the model; throws `deadline_exceeded` when a
   * thread is still stuck in native code.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const isTold = this.#leave();
    const isStuck = this.#alive && (await this.#isLostBeforeClosed(this.#thread));
    const ends = Promise.all(Array.from(this.#stuck, ({ ended }) => ended));
    if (isTold && !isStuck) await settlesWithin(ends, LEAVE_MS);
    if (this.#stuck.size === 0 && !isStuck) return;
    const { driver } = this.#thread.facts;
    throw new ServingError(
      "deadline_exceeded",
      `A run of the ${driver} model has not come back; its thread cannot be ended.`,
    );
  }

  /** Closes a thread; returns true if it turns out to be stuck in a run of this model. A process has ended then. */
  async #isLostBeforeClosed(thread: ModelThread): Promise<boolean> {
    const lost = await Promise.race([thread.close(), thread.lost]);
    return lost !== undefined && lost.culprit !== "other" && thread.pid === undefined;
  }

  /** A stuck thread is left alone: terminating it inside native code would end the process. */
  #supervise(thread: ModelThread): void {
    const since = performance.now();
    void thread.lost.then((lost) => {
      if (this.#closed) return;
      this.#alive = false;
      this.#lost++;
      if (lost.culprit !== "other") {
        this.#stuck.add(thread);
        void thread.ended.then(() => this.#stuck.delete(thread));
      }
      this.#logLoss(lost, thread);
      let isTold = false;
      const leave = () => {
        if (isTold) return false;
        // Only a message: one that comes back reads it, frees its model and ends.
        void thread.close();
        isTold = true;
        return true;
      };
      this.#leave = leave;
      const replace = async () => {
        await this.#replace(new Backoff(BACKOFF), lost.culprit !== "this");
        // Until its users have been told to leave it, it answers them.
        leave();
      };
      const waitMs = thread.pid === undefined ? 0 : this.#waitMs(performance.now() - since);
      if (thread.pid !== undefined) this.#refusal = refusalOf(lost, { endsInRow: this.#endsInRow, waitMs });
      if (waitMs === 0) void replace();
      else setTimeout(() => void replace(), waitMs).unref();
    });
  }

  /** A request that ends the model's process may be sent again and again. */
  #waitMs(livedMs: number): number {
    if (livedMs >= STEADY_MS) {
      this.#ends.reset();
      this.#endsInRow = 0;
    }
    this.#endsInRow++;
    return livedMs < STEADY_MS ? this.#ends.next() : 0;
  }

  #logLoss({ why, culprit }: LostThread, { facts: { driver, path }, pid }: ModelThread): void {
    if (culprit === "other")
      this.#log.warn(`a model moves to another thread: its own ${why} in another model`, { driver, path });
    else if (pid === undefined) this.#log.error(`a model's thread ${why} and is replaced`, { driver, path });
    else this.#log.error(`a model's process ${why}; it is replaced`, { driver, path, process: pid });
  }

  async #replace(backoff: Backoff, resend: boolean, isAgain = false): Promise<void> {
    if (this.#closed) return;
    try {
      // One that has blocked others does so no more.
      const start = resend ? this.#start : this.#startAlone;
      const thread = await start(this.#data, this.#log);
      await this.#warmUp(thread);
      if (this.#closed) return await thread.close();
      this.#thread = thread;
      this.#alive = true;
      this.#supervise(thread);
      this.#onReplaced(this.#instance, thread, resend);
    } catch (reason) {
      const againInMs = backoff.next();
      this.#log.error(`the model could not be loaded again: ${reasonText(reason)}`, { err: reason, againInMs });
      const thread = this.#thread;
      // The ports to a thread that hangs are open, and requests would wait on them as long.
      if (!isAgain && !(await settlesWithin(thread.ended, 0)))
        this.#onReplaced(this.#instance, withClosedPorts(thread), false);
      setTimeout(() => void this.#replace(backoff, resend, true), againInMs).unref();
    }
  }

  /** The model is known to run, and those who wait need the thread: it takes requests also if these fail. */
  async #warmUp(thread: ModelThread): Promise<void> {
    try {
      await Promise.race([this.#runFirst(thread), thread.lost]);
    } catch (err) {
      this.#log.warn(`a model's new thread was not warmed up: ${reasonText(err)}`, { err });
    }
  }
}

function refusalOf({ why }: LostThread, { endsInRow, waitMs }: { endsInRow: number; waitMs: number }): ServingError {
  const times = endsInRow > 1 ? `, the ${ordinal(endsInRow)} time in a row` : "";
  const when = waitMs > 1000 ? ` in ${Math.ceil(waitMs / 1000)} s` : "";
  return new ServingError("unavailable", `The model's process ${why}${times}. The model is loaded again${when}.`);
}

function ordinal(count: number): string {
  return `${count}${["th", "st", "nd", "rd"][count % 100 > 10 && count % 100 < 14 ? 0 : count % 10] ?? "th"}`;
}

/** Parts of an instance. */
export interface SupervisedParts {
  readonly data: ModelThreadData;
  readonly log: Logger;
  readonly onReplaced: ReplacedListener;
  /** Deaths of the server's process that the model has to answer for. Default 0. */
  readonly lostBefore?: number;
  /** Gives up the first load. */
  readonly signal?: AbortSignal | undefined;
  /** Default: in its own thread. */
  readonly start?: StartModelThread;
  /** Starts it if nothing else runs; default: in a thread. */
  readonly startAlone?: StartModelThread;
  /** Runs requests in a thread that replaces another, before it takes others. */
  readonly runFirst?: (thread: ModelThread) => Promise<void>;
}

function withClosedPorts(thread: ModelThread): ModelThread {
  return { ...thread, connect: closedPort, connectHere: () => toHostPort(closedPort()) };
}

function closedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}
