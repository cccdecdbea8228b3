import type { ModelHandle } from "../model-host/model-handle.ts";
import type { LoadMore } from "./start-hooks.ts";

/** Name that hooks use instead of a driver for another model of this server. */
export const SERVED = "served";

/** Connections of hooks to the other models of this server, opened at the first use. */
export class OtherModels {
  readonly #load: LoadMore;
  readonly #found = new Map<string, Promise<ModelHandle>>();

  constructor(load: LoadMore) {
    this.#load = load;
  }

  /** Finds a model by its name; a missing one is looked up again the next time. */
  find(name: string): Promise<ModelHandle> {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const found = this.#load(SERVED, name, {});
    this.#found.set(name, found);
    found.catch(() => this.#found.delete(name));
    return found;
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const found = await Promise.allSettled(this.#found.values());
    await Promise.all(found.map((one) => (one.status === "fulfilled" ? one.value.close() : undefined)));
  }
}
