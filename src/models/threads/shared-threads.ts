import { createSilentLogger, type Logger } from "../../observability/logger.ts";
import { processors } from "../../platform/machine/container.ts";
import type { ModelThread } from "./model-thread.ts";
import { ModelThreadHost } from "./model-thread-host.ts";
import type { ModelThreadData } from "./model-thread-messages.ts";

/** Time in which a thread waits for another model after the last one, in milliseconds. */
const SPARE_MS = 60_000;

/** The threads for the models of one driver. */
interface DriverThreads {
  /** The first of the models. */
  readonly model: ModelThreadData;
  readonly start: () => ModelThreadHost;
  hosts: ModelThreadHost[];
  /** Resolves once the thread that is prepared waits for its model. */
  prepared?: Promise<void>;
  /** Ends the thread that waits for another model. */
  end?: NodeJS.Timeout;
}

/** Threads for small models, which they share as soon as there are more of them than cores. */
export class SharedThreads {
  readonly #size: number;
  readonly #spareMs: number;
  readonly #drivers = new Map<string, DriverThreads>();
  #isClosed = false;

  /** `size` is the number of threads for each driver, at most. */
  constructor(size: number = processors(), spareMs = SPARE_MS) {
    this.#size = size;
    this.#spareMs = spareMs;
  }

  /**
   * Loads a model in the thread with the fewest models; its runtime has no own threads if it is not alone
   * there, but for those that were asked for.
   */
  async start(data: ModelThreadData & { readonly hasThreads: boolean }, log: Logger): Promise<ModelThread> {
    const driver = this.#threadsOf(data, log);
    await driver.prepared;
    clearTimeout(driver.end);
    this.#addSpare(driver);
    const host = driver.hosts.reduce((best, each) => (each.size < best.size ? each : best));
    const threads = host.size === 0 || data.hasThreads ? data.threads : 1;
    return host.load({ ...data, threads }, log);
  }

  /**
   * Has a thread ready for the next model of each driver, if that would start one: it
   * has loaded a model before, and freed it again.
   */
  async prepare(): Promise<void> {
    for (const driver of this.#drivers.values()) driver.prepared ??= this.#prepare(driver);
    await Promise.all(Array.from(this.#drivers.values(), ({ prepared }) => prepared));
  }

  /**
   * Ends the threads that have no model, and later ones as soon as they have none; resolves once the former have ended.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const drivers = [...this.#drivers.values()];
    for (const { end } of drivers) clearTimeout(end);
    // One that hangs is not waited for.
    const ends = drivers.flatMap(({ hosts }) => hosts).map((host) => [host.isOpen, host.end()] as const);
    await Promise.all(ends.map(([isOpen, end]) => (isOpen ? end : undefined)));
  }

  async #prepare(driver: DriverThreads): Promise<void> {
    const isUsed = driver.hosts.some(({ isOpen }) => isOpen);
    const model = { ...driver.model, threads: 1, laneMark: undefined };
    try {
      const spare = isUsed ? this.#addSpare(driver) : undefined;
      await (await spare?.load(model, createSilentLogger()))?.close();
    } catch {
      // The next model reports the problem, if it has it too.
    }
  }

  #threadsOf(data: ModelThreadData, log: Logger): DriverThreads {
    const key = JSON.stringify([data.driver, data.stallMs]);
    const known = this.#drivers.get(key);
    if (known !== undefined) return known;
    const onEmpty = () => this.#tidy(driver);
    const driver: DriverThreads = {
      model: data,
      start: () => new ModelThreadHost({ ...data, isShared: true, onEmpty }, log),
      hosts: [],
    };
    this.#drivers.set(key, driver);
    return driver;
  }

  /**
   * Starts a thread unless there are enough, or a version has left one: its start takes a tenth of a second of a core.
   */
  #addSpare(driver: DriverThreads): ModelThreadHost | undefined {
    const open = driver.hosts.filter(({ isOpen }) => isOpen);
    // One that hung without a model ends if it comes back.
    for (const host of driver.hosts) if (!host.isOpen) void host.end();
    driver.hosts = open;
    if (open.length >= this.#size || open.some(({ size }) => size === 0)) return undefined;
    const started = driver.start();
    open.push(started);
    return started;
  }

  /**
   * Keeps one thread without models for the next version: as long as any other has models, else for a while; for good
   * if its driver asks for it ({@link Model.keepsThread}).
   */
  async #tidy(driver: DriverThreads): Promise<void> {
    const open = driver.hosts.filter(({ isOpen }) => isOpen);
    const empty = open.filter(({ size }) => size === 0);
    const spare = this.#isClosed ? undefined : empty[0];
    if (spare?.isKept === false && empty.length === open.length)
      driver.end = setTimeout(() => void spare.end(), this.#spareMs).unref();
    await Promise.all(empty.filter((host) => host !== spare).map((host) => host.end()));
  }
}
