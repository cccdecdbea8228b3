import type { RequestMetrics } from "../../observability/metrics/request-metrics.ts";
import { threadMemory } from "../../platform/limits/memory/thread-memory.ts";
import { ThreadCounts } from "../../platform/limits/thread-counts.ts";
import type { LocalService } from "../../serving/local-service.ts";
import type { ListenerCommand, ServiceState } from "./listener-messages.ts";
import { type ListenerHost, ListenerThread, type Opened, type OwnData } from "./listener-thread.ts";

/** Milliseconds until a thread that has ended is replaced: one that cannot live must not keep the machine busy. */
const REPLACE_MS = 500;
/** Milliseconds between two accounts of all versions, where these are not few. */
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
    // Where its ports cannot be opened, its end is not far, and it is replaced then.
    this.#start(number).catch((err) => {
      this.#options.log.error("a thread that listens cannot be replaced yet", { err });
      const thread = this.#threads.get(number);
      if (thread !== undefined) void thread.terminate();
      // Where no thread could be started at all, none ends.
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
      ...(alias !== undefined && model !== undefined && { alias: { name: alias, model } }),
    };
  }
}

/** An error of a load stays in the main thread, which alone describes the versions. */
function toPlain({ error: _, ...state }: ReturnType<LocalService["index"]>[number]) {
  return { ...state, error: undefined };
}
