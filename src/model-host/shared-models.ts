import type { Logger } from "../observability/logger.ts";
import type { ModelHandle } from "./model-handle.ts";
import { loadModel, type ModelSource } from "./model-host.ts";

/** Models that hooks load themselves: one copy for equal driver, path and options, freed when its last holder lets go. */
export class SharedModels {
  readonly #models = new Map<string, { readonly handle: Promise<ModelHandle>; holders: number }>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Loads the model, or joins those who hold it; each caller closes what it got, once. */
  async acquire(source: ModelSource): Promise<ModelHandle> {
    const key = keyOf(source);
    const shared = this.#models.get(key) ?? { handle: loadModel(source, this.#log), holders: 0 };
    this.#models.set(key, shared);
    shared.holders++;
    try {
      const handle = await shared.handle;
      return { ...handle, close: once(() => this.#release(key)) };
    } catch (reason) {
      this.#models.delete(key);
      throw reason;
    }
  }

  async #release(key: string): Promise<void> {
    const shared = this.#models.get(key);
    if (shared === undefined) return;
    shared.holders--;
    if (shared.holders > 0) return;
    this.#models.delete(key);
    await (await shared.handle).close();
  }
}

function keyOf({ driver, path, options }: ModelSource): string {
  return JSON.stringify([driver.name, path, Object.entries(options).sort()]);
}

function once(task: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= task();
    return done;
  };
}
