import type { Logger } from "../../observability/logger.ts";
import { ModelThreadHost } from "./model-thread-host.ts";
import type { ModelThreadData } from "./model-thread-messages.ts";
import type { StartModelThread } from "./start-model-thread.ts";

/** Threads without a model that are kept, at most: 5 MB each. */
const MOST_SPARES = 4;

/** A thread that waits for another model. */
interface SpareThread {
  /** The models that may have it: those of one driver. */
  readonly key: string;
  readonly host: ModelThreadHost;
}

/** Threads of models that ask for it ({@link Model.keepsThread}), which later models of their driver get. */
export class KeptThreads {
  /** The one that has waited longest is the first. */
  #spares: SpareThread[] = [];
  #isClosed = false;

  /** Starts a model in a thread that an earlier one has left, or in a new one. */
  readonly start: StartModelThread = (data, log, signal) => {
    const key = JSON.stringify([data.driver, data.stallMs]);
    const open = this.#spares.filter(({ host }) => host.isOpen);
    const spare = open.findLast((each) => each.key === key);
    // One that hangs ends if it comes back.
    for (const { host } of this.#spares) if (!host.isOpen) void host.end();
    this.#spares = open.filter((each) => each !== spare);
    const host = spare?.host ?? this.#startHost(key, data, log);
    return host.load(data, log, signal);
  };

  /** Ends threads without a model, and later ones as soon as they have none; resolves once the former have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const spares = this.#spares.splice(0);
    // One that hangs is not waited for.
    const open = spares.filter(({ host }) => host.isOpen);
    for (const { host } of spares) void host.end();
    await Promise.all(open.map(({ host }) => host.end()));
  }

  #startHost(key: string, data: ModelThreadData, log: Logger): ModelThreadHost {
    const onEmpty = async () => {
      if (this.#isClosed || !host.isKept) return host.end();
      this.#spares.push({ key, host });
      if (this.#spares.length > MOST_SPARES) void this.#spares.shift()?.host.end();
    };
    const host: ModelThreadHost = new ModelThreadHost({ ...data, isShared: false, onEmpty }, log);
    return host;
  }
}
