import type { ModelHost } from "./model-host.ts";

/** Models that hooks load themselves: one copy for equal keys, closed when its last holder lets go. */
export class SharedModels {
  readonly #models = new Map<string, { readonly host: Promise<ModelHost>; holders: number }>();

  /** Starts the model, or joins those who hold it; each caller releases it once. */
  async acquire(
    key: string,
    start: () => Promise<ModelHost>,
  ): Promise<{ readonly host: ModelHost; release(): Promise<void> }> {
    const shared = this.#models.get(key) ?? { host: start(), holders: 0 };
    this.#models.set(key, shared);
    shared.holders++;
    try {
      const host = await shared.host;
      return { host, release: once(() => this.#release(key)) };
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
    await (await shared.host).close();
  }
}

function once(task: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= task();
    return done;
  };
}
