import { ServingError } from "../errors.ts";
import { ListMember, MemberList } from "../platform/async/member-list.ts";
import type { ClientAccount } from "../platform/limits/client-account.ts";
import { type ModelPlaces, RESERVE_SHARE } from "./model-places.ts";

/** A request by its id, and its model. */
type Named = Pick<InFlight, "id" | "model">;

/** A request that is waiting or running. */
export interface InFlight {
  readonly id: string;
  readonly model: string;
  /** Milliseconds since it was admitted. */
  readonly ageMs: number;
}

/** Places that are kept for models, or clients, with few requests. */
interface Reserve {
  readonly size: number;
  taken: number;
}

/** Holders of places. */
export interface Holders {
  /** Its requests under way include the new one; absent = the model is another server's. */
  readonly places?: Pick<ModelPlaces, "count">;
  readonly client: ClientAccount;
}

/** A request that was admitted. */
export class Admitted extends ListMember {
  readonly request: Named;
  /** On the clock of performance.now(). */
  readonly since = performance.now();
  readonly client: ClientAccount | undefined;
  /** Its place's reserve; undefined = among those of all. */
  readonly reserve: Reserve | undefined;

  constructor(request: Named, client?: ClientAccount, reserve?: Reserve) {
    super();
    this.request = request;
    this.client = client;
    this.reserve = reserve;
  }
}

/**
 * Keeps the list of running requests, admits at most `maxCount`, and none once it is closed. Beyond these it keeps a
 * sixteenth for models that have few requests under way, and one for such clients: the more of it is taken, the fewer
 * they may have, so that a flood on one model, or of one client, never refuses others.
 */
export class Admission {
  /** Maximum number of admitted requests, without those of the reserves. */
  readonly maxCount: number;
  readonly #inside = new MemberList<Admitted>();
  readonly #closeListeners = new Set<() => void>();
  readonly #emptyListeners = new Set<() => void>();
  readonly #ofModels: Reserve;
  readonly #ofClients: Reserve;
  #open = true;

  constructor(maxCount = Number.POSITIVE_INFINITY) {
    this.maxCount = maxCount;
    const size = Math.floor(maxCount / RESERVE_SHARE);
    this.#ofModels = { size, taken: 0 };
    this.#ofClients = { size, taken: 0 };
  }

  /** True while requests are admitted. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Number of admitted requests. */
  get count(): number {
    return this.#inside.size;
  }

  /**
   * Admits a request; throws `unavailable` at once when closed or full, so that memory never grows with load. Without
   * `holders` it has no part in the reserves.
   */
  enter(request: Named, holders?: Holders): Admitted {
    const reserve = this.#findPlace(request, holders);
    const client = holders?.client;
    const admitted = new Admitted(request, client, reserve);
    if (client !== undefined) client.places++;
    if (reserve !== undefined) reserve.taken++;
    this.#inside.add(admitted);
    return admitted;
  }

  /** Removes an admitted request; to be called once it is over. */
  leave(admitted: Admitted): void {
    const { client, reserve } = admitted;
    if (client !== undefined) client.places--;
    if (reserve !== undefined) reserve.taken--;
    this.#inside.delete(admitted);
    if (this.#inside.size === 0) for (const listener of this.#emptyListeners) listener();
  }

  /** Admits no more requests; those admitted before continue. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const listener of this.#closeListeners) listener();
  }

  /** Calls back once closed; returns a function that removes the listener. */
  onClose(listener: () => void): () => void {
    this.#closeListeners.add(listener);
    return () => this.#closeListeners.delete(listener);
  }

  /** Resolves with [] once no request is left, or after `timeoutMs` with the requests that are left. */
  async empty(timeoutMs: number): Promise<readonly InFlight[]> {
    if (this.#inside.size === 0) return [];
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#emptyListeners.delete(done);
        resolve();
      };
      const timer = setTimeout(done, timeoutMs);
      this.#emptyListeners.add(done);
    });
    return this.list();
  }

  /** The admitted requests, oldest first. */
  list(): readonly InFlight[] {
    const now = performance.now();
    return this.#inside.list().map(({ request: { id, model }, since }) => ({ id, model, ageMs: now - since }));
  }

  /** Undefined = among the places of all. */
  #findPlace({ model }: Named, holders: Holders | undefined): Reserve | undefined {
    if (!this.#open) throw new ServingError("unavailable", "The server is shutting down; send the request to another.");
    if (this.#inside.size < this.maxCount) return undefined;
    if (holders === undefined) throw this.#full("");
    const { places, client } = holders;
    const ofModel = places && places.count - 1;
    if (ofModel !== undefined && hasPlace(this.#ofModels, ofModel)) return this.#ofModels;
    if (hasPlace(this.#ofClients, client.places)) return this.#ofClients;
    const ofAll = ofModel === undefined ? "" : ` and the model ${model} ${ofModel}`;
    throw this.#full(`This client has ${client.places}${ofAll} of the places: `);
  }

  #full(whose: string): ServingError {
    const text = `${whose}${this.maxCount} requests are under way already (--max-queue); try again later.`;
    return new ServingError("unavailable", text);
  }
}

function hasPlace({ size, taken }: Reserve, held: number): boolean {
  return held < size - taken;
}
