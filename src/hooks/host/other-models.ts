import type { ModelHandle } from "../../models/model-handle.ts";
import { staysCompatible } from "../../tensor/signature/stays-compatible.ts";
import type { LoadMore } from "./start-hooks.ts";

/** Name that hooks use instead of a driver for another model of this server. */
export const SERVED = "served";

/** Connections of hooks to the other models of this server, opened at the first use. */
export class OtherModels {
  readonly #load: LoadMore;
  readonly #found = new Map<string, Promise<ModelHandle>>();
  /** Connections that others have replaced. */
  readonly #former: ModelHandle[] = [];

  constructor(load: LoadMore) {
    this.#load = load;
  }

  /**
   * Finds a model by its name; a missing one is looked up again the next time. One that has refused what it was known
   * to take is looked up again at once, and given back if it takes and gives the same.
   */
  find(name: string, refusing?: ModelHandle): Promise<ModelHandle> {
    if (refusing !== undefined) return this.#renew(name, refusing);
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const found = this.#load(SERVED, name, {});
    this.#found.set(name, found);
    found.catch(() => this.#found.delete(name));
    return found;
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const found = await Promise.allSettled([...this.#found.values(), ...this.#former]);
    await Promise.all(found.map((one) => (one.status === "fulfilled" ? one.value.close() : undefined)));
  }

  /** It may have been loaded again, with other signatures than those known here. */
  async #renew(name: string, former: ModelHandle): Promise<ModelHandle> {
    const loaded = await this.#load(SERVED, name, {});
    // Another request may have done the same.
    const known = (await this.#found.get(name)) ?? former;
    if (staysCompatible(known.signatures, loaded.signatures)) {
      await loaded.close();
      return known;
    }
    this.#found.set(name, Promise.resolve(loaded));
    // Other requests may still use it.
    this.#former.push(known);
    return loaded;
  }
}
