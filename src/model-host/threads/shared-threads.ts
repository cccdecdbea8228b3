import { processors } from "../../machine/processors.ts";
import type { Logger } from "../../observability/logger.ts";
import { type ModelThread, ModelThreadHost } from "./model-thread-host.ts";
import type { ModelThreadData } from "./model-thread-messages.ts";

/** Threads for small models, which they share as soon as there are more of them than cores. */
export class SharedThreads {
  readonly #size: number;
  /** Those of one driver, by its place. */
  readonly #hosts = new Map<string, ModelThreadHost[]>();

  /** `size` is the number of threads for each driver, at most. */
  constructor(size: number = processors()) {
    this.#size = size;
  }

  /** Loads a model in the thread with the fewest models; its runtime has no threads of its own where it is not alone there, but for those that were asked for. */
  start(data: ModelThreadData & { readonly hasThreads: boolean }, log: Logger): Promise<ModelThread> {
    const host = this.#choose(data, log);
    const threads = host.size === 0 || data.hasThreads ? data.threads : 1;
    return host.load({ ...data, threads }, log);
  }

  #choose(data: ModelThreadData, log: Logger): ModelThreadHost {
    const key = JSON.stringify([data.driver, data.stallMs]);
    const open = (this.#hosts.get(key) ?? []).filter(({ isOpen }) => isOpen);
    // One that a version has left is taken before a new one is started, which costs a tenth of a second of a core.
    const hasSpare = open.some(({ size }) => size === 0);
    const onEmpty = () => this.#tidy(key);
    if (open.length < this.#size && !hasSpare)
      open.push(new ModelThreadHost({ ...data, isShared: true, onEmpty }, log));
    this.#hosts.set(key, open);
    return open.reduce((best, each) => (each.size < best.size ? each : best));
  }

  /** Keeps one thread without models for the next version, as long as any other has models. */
  async #tidy(key: string): Promise<void> {
    const open = (this.#hosts.get(key) ?? []).filter(({ isOpen }) => isOpen);
    const empty = open.filter(({ size }) => size === 0);
    const kept = empty.length < open.length ? 1 : 0;
    await Promise.all(empty.slice(kept).map((host) => host.end()));
  }
}
