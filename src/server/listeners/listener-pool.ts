import { MessageChannel, Worker } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import type { RecentRequest } from "../../observability/live/live-data.ts";
import type { Logger } from "../../observability/logger.ts";
import type { PlainSeries, RequestMetrics } from "../../observability/metrics/request-metrics.ts";
import { expectFirstSign, silence } from "../../platform/async/first-sign.ts";
import { createDeferred, settlesWithin } from "../../platform/async/promises.ts";
import { threadMemory } from "../../platform/limits/memory/thread-memory.ts";
import { ThreadCounts } from "../../platform/limits/thread-counts.ts";
import { HeartbeatWatch } from "../../platform/threads/heartbeat.ts";
import { toHostPort } from "../../platform/threads/host-port.ts";
import { threadEntry } from "../../platform/threads/thread-entry.ts";
import { fromWireError } from "../../platform/threads/wire-error.ts";
import type { LocalService } from "../../serving/local-service.ts";
import { type AnsweringParts, ListenerDesk } from "./answer-listener.ts";
import type { ListenerCommand, ListenerData, ListenerEvent, ServiceState } from "./listener-messages.ts";

/** Milliseconds until a thread that has ended is replaced: one that cannot live must not keep the machine busy. */
const REPLACE_MS = 500;
/** Milliseconds between two accounts of all versions, if these are not few. */
const [UPDATE_MS, FEW_VERSIONS] = [50, 100];

/** Data with which every listener begins, and the main thread's part. */
export interface ListenerPoolOptions extends Omit<ListenerHost, "changes"> {
  readonly data: Omit<OwnData, "state" | "number">;
  readonly alias: string | undefined;
  readonly metrics: RequestMetrics | undefined;
}

/** The threads that listen on the same ports; one that ends is replaced. */
export class ListenerPool {
  readonly #options: ListenerPoolOptions;
  readonly #threads = new Map<number, ListenerThread>();
  readonly #stops: (() => void)[] = [];
  readonly #host: ListenerHost;
  #changes = 0;
  #isStateOld = false;
  #updatedAt = 0;
  /** Number of the versions in the last account. */
  #versions = 0;
  #isClosing = false;
  #isRetired = false;

  private constructor(options: ListenerPoolOptions) {
    this.#options = options;
    this.#host = { ...options, changes: () => this.#changes };
    const { service } = options;
    this.#stops.push(
      service.onChange(() => this.#changed()),
      service.onReadiness(() => this.#updateSoon()),
    );
  }

  /** Starts the threads; resolves with their common addresses, and throws why the ports cannot be opened. */
  static async open(options: ListenerPoolOptions): Promise<{ readonly pool: ListenerPool; readonly opened: Opened }> {
    const pool = new ListenerPool(options);
    const { listeners: count } = options.data.options.settings.limits;
    try {
      const all = await Promise.all(Array.from({ length: count }, (_, index) => pool.#start(index + 1)));
      return { pool, opened: all[0] as Opened };
    } catch (reason) {
      await pool.close(0);
      throw reason;
    }
  }

  /** Asks clients to use other servers, and still answers. */
  retire(): void {
    this.#isRetired = true;
    this.tell({ retire: true });
  }

  /** Finishes running requests within `drainTimeoutMs`, and ends the threads. */
  async close(drainTimeoutMs: number): Promise<void> {
    this.#isClosing = true;
    await Promise.all(Array.from(this.#threads.values(), (thread) => thread.close(drainTimeoutMs)));
    for (const stop of this.#stops) stop();
  }

  /** Sends a message to all of them. */
  tell(command: ListenerCommand): void {
    for (const thread of this.#threads.values()) thread.tell(command);
  }

  async #start(number: number): Promise<Opened> {
    const thread = new ListenerThread({ ...this.#options.data, number, state: this.#state() }, this.#host);
    this.#threads.set(number, thread);
    const stop = this.#options.metrics?.addSource(() => thread.count());
    void thread.ended.then(() => {
      stop?.();
      this.#ended(number);
    });
    const opened = await thread.opened;
    if (this.#isRetired) thread.tell({ retire: true });
    return opened;
  }

  #ended(number: number): void {
    const { connections, held } = this.#options.data;
    this.#threads.delete(number);
    new ThreadCounts(connections, 0).forget(number);
    threadMemory.addRequestBytes(-1024 * new ThreadCounts(held, 0).take(number));
    if (this.#isClosing) return;
    this.#options.log.error("a thread that listens has ended; another one takes its place", { listener: number });
    setTimeout(() => this.#replace(number), REPLACE_MS).unref();
  }

  #replace(number: number): void {
    if (this.#isClosing) return;
    // If its ports cannot be opened, its end is not far, and it is replaced then.
    this.#start(number).catch((err) => {
      this.#options.log.error("a thread that listens cannot be replaced yet", { err });
      const thread = this.#threads.get(number);
      if (thread !== undefined) void thread.terminate();
      // If no thread could be started at all, none ends.
      else setTimeout(() => this.#replace(number), REPLACE_MS).unref();
    });
  }

  /** Told at once: until then listeners check requests by what they know. */
  #changed(): void {
    this.#changes++;
    this.tell({ changed: this.#changes });
    this.#updateSoon();
  }

  /**
   * Before the client that loads a model gets its answer, whose next request may be for that model; of many versions
   * for all changes of a while, since thousands of models may be loading.
   */
  #updateSoon(): void {
    if (this.#isStateOld) return;
    this.#isStateOld = true;
    const update = () => {
      this.#isStateOld = false;
      this.#updatedAt = performance.now();
      this.tell({ state: this.#state() });
    };
    const areFew = this.#versions <= FEW_VERSIONS;
    if (areFew || performance.now() - this.#updatedAt > UPDATE_MS) queueMicrotask(update);
    else setTimeout(update, UPDATE_MS).unref();
  }

  #state(): ServiceState {
    const { service, alias } = this.#options;
    const model = alias === undefined ? undefined : service.nameOf(alias);
    const index = service.index().map(toPlain);
    this.#versions = index.length;
    return {
      changes: this.#changes,
      isReady: service.isReady(),
      index,
      hookRoutes: service.hookRoutes(),
      mayAnswerInParts: service.mayAnswerInParts(),
      ...(alias !== undefined && model !== undefined && { alias: { name: alias, model } }),
    };
  }
}

/** An error of a load stays in the main thread, which alone describes the versions. */
function toPlain({ error: _, ...state }: ReturnType<LocalService["index"]>[number]) {
  return { ...state, error: undefined };
}

/** The main thread's part in a listener. */
interface ListenerHost extends AnsweringParts {
  readonly log: Logger;
  readonly onRecent: (request: RecentRequest) => void;
}

/** Start data of a thread, without what it has for itself. */
type OwnData = Omit<ListenerData, "requests" | "heartbeat">;

type Opened = Extract<ListenerEvent, { readonly opened: unknown }>["opened"];

type Counted = Extract<ListenerEvent, { readonly counted: unknown }>["counted"];

/** Milliseconds beyond the time of draining that a thread has to end, and that it has to send its counts. */
const [END_MS, COUNT_MS] = [2000, 1000];

/** Milliseconds without a turn of its event loop after which a thread is ended: its work takes milliseconds. */
const STALL_MS = 10_000;

/** One thread that listens. */
class ListenerThread {
  /** Resolves once the thread has ended, for any reason. */
  readonly ended: Promise<void>;
  readonly #worker: Worker;
  readonly #desk: ListenerDesk;
  readonly #host: ListenerHost;
  readonly #opened = createDeferred<Opened>();
  readonly #closed = createDeferred<void>();
  /** Calls of {@link count} that wait, and what was counted that none has returned. */
  readonly #waiting = new Map<number, () => void>();
  #counted: readonly PlainSeries[] = [];
  #lastCount = 0;

  constructor(data: OwnData, host: ListenerHost) {
    this.#host = host;
    const watch = new HeartbeatWatch(STALL_MS, () => this.#endHung());
    const { port1, port2: requests } = new MessageChannel();
    this.#desk = new ListenerDesk(toHostPort(port1), host);
    this.#worker = new Worker(threadEntry("server/listeners/listener-thread-entry"), {
      workerData: { ...data, requests, heartbeat: watch.memory } satisfies ListenerData,
      transferList: [requests],
      name: "listener",
    });
    this.ended = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
    const heard = expectFirstSign(() => this.#endSilent());
    this.#worker.once("message", heard);
    this.#worker.on("message", (event: ListenerEvent) => this.#receive(event));
    this.#worker.on("error", (err) => host.log.error("a thread that listens has failed", { err }));
    void this.ended.then(() => {
      heard();
      watch.stop();
      this.#end();
    });
  }

  /** Resolves once its ports are open; throws why they are not. */
  get opened(): Promise<Opened> {
    return this.#opened.promise;
  }

  tell(command: ListenerCommand): void {
    this.#worker.postMessage(command);
  }

  /** Its counts since the last call; if it does not answer in time, they are among those of a later one. */
  async count(): Promise<readonly PlainSeries[]> {
    const id = ++this.#lastCount;
    const answered = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    this.tell({ count: id });
    await settlesWithin(answered, COUNT_MS);
    this.#waiting.delete(id);
    const counted = this.#counted;
    this.#counted = [];
    return counted;
  }

  /** Finishes its requests within `drainTimeoutMs`, and ends the thread. */
  async close(drainTimeoutMs: number): Promise<void> {
    this.tell({ close: drainTimeoutMs });
    await settlesWithin(this.#closed.promise, drainTimeoutMs + END_MS);
    await this.terminate();
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** The system would go on giving it a part of the connections. */
  #endHung(): void {
    this.#host.log.error("a thread that listens hangs, and is ended", { stallMs: STALL_MS });
    void this.terminate();
  }

  #endSilent(): void {
    this.#fail(new ServingError("unavailable", `A thread that listens ${silence()}`));
    void this.terminate();
  }

  #receive(event: ListenerEvent): void {
    if ("begun" in event) return;
    if ("opened" in event) this.#opened.resolve(event.opened);
    else if ("failed" in event) this.#fail(fromWireError(event.failed));
    else if ("log" in event) this.#host.log[event.log.level](event.log.message, event.log.fields);
    else if ("recent" in event) this.#host.onRecent(event.recent);
    else if ("counted" in event) this.#takeCounts(event.counted);
    else this.#closed.resolve();
  }

  /** The thread has them no more. */
  #takeCounts({ id, series }: Counted): void {
    this.#counted = [...this.#counted, ...series];
    this.#waiting.get(id)?.();
  }

  /** Has nothing to finish. */
  #fail(reason: ServingError): void {
    this.#opened.reject(reason);
    this.#opened.promise.catch(() => {});
    this.#closed.resolve();
  }

  #end(): void {
    this.#desk.close();
    this.#fail(new ServingError("internal", "A thread that listens has ended before its ports were open."));
    for (const resolve of this.#waiting.values()) resolve();
  }
}
