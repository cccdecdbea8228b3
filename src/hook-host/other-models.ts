import type { ModelHandle } from "../model-host/model-handle.ts";
import type { LoadMore } from "./start-hooks.ts";

/** Name that stands for a driver where hooks ask for another model of this server. */
export const SERVED = "served";

/** Lines of hooks to the other models of this server, each opened when it is first used. */
export class OtherModels {
  readonly #load: LoadMore;
  readonly #found = new Map<string, Promise<ModelHandle>>();

  constructor(load: LoadMore) {
    this.#load = load;
  }

  /** Finds a model by its name; one that was not there is looked for again the next time. */
  find(name: string): Promise<ModelHandle> {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const found = this.#load(SERVED, name, {});
    this.#found.set(name, found);
    found.catch(() => this.#found.delete(name));
    return found;
  }

  /** Closes all lines. */
  async close(): Promise<void> {
    const found = await Promise.allSettled(this.#found.values());
    await Promise.all(found.map((one) => (one.status === "fulfilled" ? one.value.close() : undefined)));
  }
}
