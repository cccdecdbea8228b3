import { settlesWithin } from "../async/settles-within.ts";
import { ServingError } from "../errors.ts";
import type { Servable } from "./servable.ts";

/** What a servable is called. */
export interface ServableIdentity {
  readonly name: string;
  readonly version: bigint;
}

/** How long requests under way may go on in a servable that is to be freed, in milliseconds: one that nobody ends must not keep its memory. */
const RETIRE_MS = 25_000;

/** The place of one version of a model, where it is loaded, unloaded and loaded again; one change at a time. */
export class ServableSlot {
  readonly name: string;
  readonly version: bigint;
  readonly #load: () => Promise<Servable>;
  #servable: Servable | undefined;
  #unavailableReason = "unloaded";
  #lastChange: Promise<unknown> = Promise.resolve();

  /** `servable` is what `load` loads, where that has been done already. */
  constructor({ name, version }: ServableIdentity, load: () => Promise<Servable>, servable?: Servable) {
    this.name = name;
    this.version = version;
    this.#load = load;
    this.#servable = servable;
  }

  /** What answers now; undefined while nothing is loaded. */
  get servable(): Servable | undefined {
    return this.#servable;
  }

  /** Why nothing answers, empty where something does. */
  get unavailableReason(): string {
    if (this.#servable === undefined) return this.#unavailableReason;
    return this.#servable.isReady() ? "" : "its hooks or a model are being replaced";
  }

  /** Loads the files as they are now. What was loaded answers until the new one can, and stays when that fails; then this throws. */
  load(): Promise<void> {
    return this.#change(async () => {
      const old = this.#servable;
      this.#servable = await this.#load().catch((reason) => {
        if (old === undefined) this.#unavailableReason = ServingError.from(reason).message;
        throw reason;
      });
      await retire(old);
    });
  }

  /** Takes no new requests, finishes those under way, frees the model. */
  unload(): Promise<void> {
    return this.#change(async () => {
      const old = this.#servable;
      this.#servable = undefined;
      this.#unavailableReason = "unloaded";
      await retire(old);
    });
  }

  #change(change: () => Promise<void>): Promise<void> {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => {});
    return result;
  }
}

/** Lets requests finish that began before others took over, then frees the servable. */
async function retire(servable: Servable | undefined): Promise<void> {
  if (servable === undefined) return;
  await settlesWithin(servable.idle(), RETIRE_MS);
  await servable.close();
}
