import { processors } from "../../machine/processors.ts";
import type { Logger } from "../../observability/logger.ts";
import type { ModelThread } from "./model-thread.ts";
import { ModelThreadHost } from "./model-thread-host.ts";
import type { ModelThreadData } from "./model-thread-messages.ts";

/** Time in which a thread waits for another model after the last one, in milliseconds. */
const SPARE_MS = 60_000;

/** Threads for small models, which they share as soon as there are more of them than cores. */
export class SharedThreads {
  readonly #size: number;
  readonly #spareMs: number;
  /** Those of one driver, by its place. */
  readonly #hosts = new Map<string, ModelThreadHost[]>();
  readonly #ends = new Map<string, NodeJS.Timeout>();

  /** `size` is the number of threads for each driver, at most. */
  constructor(size: number = processors(), spareMs = SPARE_MS) {
    this.#size = size;
    this.#spareMs = spareMs;
  }

  /** Loads a model in the thread with the fewest models; its runtime has no threads of its own where it is not alone there, but for those that were asked for. */
  start(data: ModelThreadData & { readonly hasThreads: boolean }, log: Logger): Promise<ModelThread> {
    const host = this.#choose(data, log);
    const threads = host.size === 0 || data.hasThreads ? data.threads : 1;
    return host.load({ ...data, threads }, log);
  }

  /** Ends the threads that have no model; resolves once they have ended. */
  async close(): Promise<void> {
    for (const end of this.#ends.values()) clearTimeout(end);
    await Promise.all([...this.#hosts.values()].flat().map((host) => host.end()));
  }

  #choose(data: ModelThreadData, log: Logger): ModelThreadHost {
    const key = JSON.stringify([data.driver, data.stallMs]);
    const open = (this.#hosts.get(key) ?? []).filter(({ isOpen }) => isOpen);
    // One that a version has left is taken before a new one is started, which costs a tenth of a second of a core.
    const hasSpare = open.some(({ size }) => size === 0);
    const onEmpty = () => this.#tidy(key);
    clearTimeout(this.#ends.get(key));
    if (open.length < this.#size && !hasSpare)
      open.push(new ModelThreadHost({ ...data, isShared: true, onEmpty }, log));
    this.#hosts.set(key, open);
    return open.reduce((best, each) => (each.size < best.size ? each : best));
  }

  /** Keeps one thread without models for the next version: as long as any other has models, else for a while. */
  async #tidy(key: string): Promise<void> {
    const open = (this.#hosts.get(key) ?? []).filter(({ isOpen }) => isOpen);
    const [spare, ...rest] = open.filter(({ size }) => size === 0);
    if (spare !== undefined && rest.length + 1 === open.length)
      this.#ends.set(key, setTimeout(() => void spare.end(), this.#spareMs).unref());
    await Promise.all(rest.map((host) => host.end()));
  }
}
