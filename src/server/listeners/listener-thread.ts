import { MessageChannel, Worker } from "node:worker_threads";
import { ServingError } from "../../errors.ts";
import type { RecentRequest } from "../../observability/live/live-data.ts";
import type { Logger } from "../../observability/logger.ts";
import type { PlainSeries } from "../../observability/metrics/request-metrics.ts";
import { expectFirstSign, silence } from "../../platform/async/first-sign.ts";
import { createDeferred, settlesWithin } from "../../platform/async/promises.ts";
import { HeartbeatWatch } from "../../platform/threads/heartbeat.ts";
import { toHostPort } from "../../platform/threads/host-port.ts";
import { threadEntry } from "../../platform/threads/thread-entry.ts";
import { fromWireError } from "../../platform/threads/wire-error.ts";
import { type AnsweringParts, ListenerDesk } from "./answer-listener.ts";
import type { ListenerCommand, ListenerData, ListenerEvent } from "./listener-messages.ts";

/** The main thread's part in a listener. */
export interface ListenerHost extends AnsweringParts {
  readonly log: Logger;
  readonly onRecent: (request: RecentRequest) => void;
}

/** Start data of a thread, without what it has for itself. */
export type OwnData = Omit<ListenerData, "requests" | "heartbeat">;

export type Opened = Extract<ListenerEvent, { readonly opened: unknown }>["opened"];

type Counted = Extract<ListenerEvent, { readonly counted: unknown }>["counted"];

/** Milliseconds beyond the time of draining that a thread has to end, and that it has to send its counts. */
const [END_MS, COUNT_MS] = [2000, 1000];

/** Milliseconds without a turn of its event loop after which a thread is ended: its work takes milliseconds. */
const STALL_MS = 10_000;

/** One thread that listens. */
export class ListenerThread {
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

  /** Its counts since the last call; where it does not answer in time, they are among those of a later one. */
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
