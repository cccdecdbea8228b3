import { MessageChannel, type MessagePort, type Worker } from "node:worker_threads";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { Logger } from "../../observability/logger.ts";
import { createDeferred } from "../../platform/async/promises.ts";
import { HeartbeatWatch } from "../../platform/threads/heartbeat.ts";
import { type MalformedListener, MalformedMessage, toHostPort } from "../../platform/threads/host-port.ts";
import { EventWriter, isLogEvent } from "../../platform/threads/thread-logger.ts";
import { fromWireError, isWireError } from "../../platform/threads/wire-error.ts";
import { type LostThread, toLostThread } from "./lost-thread.ts";
import type { LoadedFacts, ModelThread } from "./model-thread.ts";
import type {
  LoadCommand,
  ModelThreadCommand,
  ModelThreadData,
  ModelThreadEvent,
  ModelWorkerData,
  ProcessState,
} from "./model-thread-messages.ts";
import { takeWorker } from "./waiting-worker.ts";

/** The thread of one model, or of several. */
export type ModelThreadHostData = Pick<ModelThreadData, "driver" | "logged" | "stallMs"> & {
  readonly isShared: boolean;
  /**
   * Called when its last model is gone, to {@link ModelThreadHost.end} it, or to keep it
   * for others; left out = it ends then.
   */
  readonly onEmpty?: () => Promise<void>;
};

interface HostedModel {
  readonly id: number;
  readonly log: Logger;
  readonly loaded: ReturnType<typeof createDeferred<LoadedFacts>>;
  /** Resolves also when the thread has ended. */
  readonly unloaded: ReturnType<typeof createDeferred<void>>;
  /** Each model has its own: what waits for a promise of the thread would stay as long as the thread. */
  readonly lost: ReturnType<typeof createDeferred<LostThread>>;
  state?: ProcessState;
}

/** Long calls that the threads have in libuv's pool. */
const poolCalls = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

/** A thread for the models of one driver, which ends after the last of them. */
export class ModelThreadHost {
  readonly #worker: Worker;
  readonly #data: ModelThreadHostData;
  readonly #log: Logger;
  readonly #events = new EventWriter();
  readonly #heartbeat = new SharedArrayBuffer(4);
  readonly #running = new SharedArrayBuffer(4);
  readonly #models = new Map<number, HostedModel>();
  readonly #ports = new AttachedPorts();
  readonly #ended: Promise<void>;
  #watch: HeartbeatWatch | undefined;
  #lastId = 0;
  #isKept = false;
  #isOpen = true;
  #isOver = false;

  constructor(data: ModelThreadHostData, log: Logger) {
    this.#data = data;
    this.#log = log;
    const { driver, logged, isShared } = data;
    const shared = isShared && { running: this.#running };
    const start: ModelWorkerData = { driver, logged, heartbeat: this.#heartbeat, poolCalls, ...shared };
    this.#worker = takeWorker();
    this.#ended = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
    this.#listen();
    this.#say({ start });
  }

  /** True while models may be loaded in it. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** True once a model in it has asked for the thread to be kept: see {@link Model.keepsThread}. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Number of its models. */
  get size(): number {
    return this.#models.size;
  }

  /** Ends the thread if it has no model; resolves once it has ended. */
  async end(): Promise<void> {
    if (this.#models.size > 0) return;
    this.#isOpen = false;
    // Also to one that was given up: it may come back.
    this.#say({ close: true });
    await this.#ended;
  }

  /**
   * Loads a model and resolves once it can predict; throws what loading threw. Once `signal` aborts the driver is told,
   * which may end the load.
   */
  async load(source: Omit<LoadCommand, "id">, log: Logger, signal?: AbortSignal): Promise<ModelThread> {
    const id = ++this.#lastId;
    const [loaded, unloaded, lost] = [
      createDeferred<LoadedFacts>(),
      createDeferred<void>(),
      createDeferred<LostThread>(),
    ];
    const model: HostedModel = { id, log, loaded, unloaded, lost };
    if (this.#models.size === 0) this.#unwatch();
    this.#models.set(id, model);
    const { name, path, options, threads, copies, hookFolder, laneMark, mark } = source;
    this.#say({ load: { id, name, path, options, threads, copies, hookFolder, laneMark, mark } });
    const giveUp = () => this.#say({ giveUp: id });
    signal?.addEventListener("abort", giveUp);
    if (signal?.aborted) giveUp();
    try {
      const facts = await loaded.promise;
      this.#isKept ||= facts.facts.keepsThread === true;
      // Not before: a large model blocks its thread while it loads, which is not a stall.
      this.#watch ??= this.#startWatch();
      return this.#toThread(model, facts);
    } catch (reason) {
      this.#models.delete(id);
      void this.#leave();
      throw signal?.aborted ? signal.reason : reason;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** After its last model a shared thread may wait for another one; any other ends. */
  async #leave(): Promise<void> {
    if (this.#models.size > 0) return;
    if (this.#isOpen && this.#data.onEmpty !== undefined) await this.#data.onEmpty();
    else await this.end();
  }

  #toThread(model: HostedModel, loaded: LoadedFacts): ModelThread {
    const { id, lost, unloaded } = model;
    return {
      ...loaded,
      processes: () => model.state,
      lost: lost.promise,
      ended: this.#ended,
      connect: (onMalformed) => this.#connect(id, onMalformed),
      connectHere: () => toHostPort(this.#connect(id)),
      close: async () => {
        this.#say({ unload: id });
        await unloaded.promise;
        this.#models.delete(id);
        await this.#leave();
      },
    };
  }

  #connect(id: number, onMalformed?: MalformedListener): MessagePort {
    const { port1, port2 } = new MessageChannel();
    // A thread that has ended would swallow the port, and its user would wait for ever.
    if (this.#isOver) port2.close();
    else this.#say({ attach: port2, number: this.#ports.add(onMalformed), id }, [port2]);
    return port1;
  }

  #say(command: ModelThreadCommand, transfer: MessagePort[] = []): void {
    this.#worker.postMessage(command, transfer);
  }

  #startWatch(): HeartbeatWatch | undefined {
    const { stallMs } = this.#data;
    if (this.#isOver) return undefined;
    return new HeartbeatWatch(stallMs, () => this.#lose(`has hung for ${stallMs} ms`), this.#heartbeat);
  }

  #unwatch(): void {
    this.#watch?.stop();
    this.#watch = undefined;
  }

  /** Gives the thread up, and with it the models that load in it. */
  #lose(why: string): void {
    this.#isOpen = false;
    const only = this.#models.size === 1 ? [...this.#models.keys()][0] : undefined;
    const culprit = only ?? Atomics.load(new Int32Array(this.#running), 0);
    for (const { id, loaded, lost } of this.#models.values()) {
      lost.resolve(toLostThread(id, why, culprit));
      loaded.reject(failedPrecondition(`The model's thread ${why} while it was loading.`));
    }
  }

  /** An uncaught error of a driver ends its thread: the ports to it close, and the requests on them fail. */
  #listen(): void {
    let isReported = false;
    this.#worker.on("message", (event: unknown) => {
      if (isModelThreadEvent(event)) this.#receive(event);
      else if (!isReported) {
        isReported = true;
        this.#log.warn("a driver posted a message to the thread's parent port, which is the server's; it was ignored");
      }
    });
    this.#worker.on("error", (reason) => {
      const logs = new Set(Array.from(this.#models.values(), ({ log }) => log));
      for (const log of logs.size > 0 ? logs : [this.#log]) log.error("a model's thread failed", { err: reason });
      const failure = failedPrecondition(`The model's thread failed: ${reasonText(reason)}`, reason);
      for (const { loaded } of this.#models.values()) loaded.reject(failure);
    });
    void this.#ended.then(() => {
      this.#isOver = true;
      this.#unwatch();
      this.#lose("ended");
      for (const { unloaded } of this.#models.values()) unloaded.resolve();
    });
  }

  #setState({ id, state }: Extract<ModelThreadEvent, { readonly state: unknown }>): void {
    const model = this.#models.get(id);
    if (model !== undefined) model.state = state;
  }

  #receive(event: ModelThreadEvent): void {
    if ("detached" in event) this.#ports.delete(event.detached, event.malformed);
    else if ("unloaded" in event) this.#models.get(event.unloaded)?.unloaded.resolve();
    else if ("state" in event) this.#setState(event);
    else if ("log" in event) this.#events.write(this.#models.get(event.id)?.log ?? this.#log, event.log);
    else if ("loaded" in event) this.#models.get(event.id)?.loaded.resolve(event.loaded);
    else this.#models.get(event.id)?.loaded.reject(fromWireError(event.failed));
  }
}

/** The ports that a model thread answers on, by number. */
class AttachedPorts {
  readonly #listeners = new Map<number, MalformedListener | undefined>();
  #last = 0;

  /** Returns the port's number. */
  add(onMalformed: MalformedListener | undefined): number {
    this.#listeners.set(++this.#last, onMalformed);
    return this.#last;
  }

  /** `malformed` says what was wrong with the message that ended the port. */
  delete(number: number, malformed: string | undefined): void {
    const onMalformed = this.#listeners.get(number);
    this.#listeners.delete(number);
    if (malformed !== undefined) onMalformed?.(new MalformedMessage(malformed));
  }
}

/**
 * A user's driver, or a package that it imports, may post to the thread's parent port
 * too; native code may run there, so the thread stays.
 */
function isModelThreadEvent(value: unknown): value is ModelThreadEvent {
  if (typeof value !== "object" || value === null) return false;
  const { log, failed, loaded, unloaded, detached, state, id } = value as { readonly [name: string]: unknown };
  if (typeof detached === "number" || typeof unloaded === "number") return true;
  if (typeof id !== "number") return false;
  if (log !== undefined) return isLogEvent(log);
  if (failed !== undefined) return isWireError(failed);
  if (state !== undefined) return isProcessState(state);
  return typeof loaded === "object" && loaded !== null && "facts" in loaded;
}

function isProcessState(value: unknown): value is ProcessState {
  const { isReady, pids } = (value ?? {}) as { readonly [name: string]: unknown };
  return typeof isReady === "boolean" && Array.isArray(pids) && pids.every(Number.isInteger);
}
