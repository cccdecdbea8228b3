import { MAX_CLIENTS } from "./client-limits.ts";

/** All that one client holds of a server now: an address, a /64 of IPv6, or a user where it has authenticated. */
export class ClientAccount {
  /** Key of the client, as that of its limits. */
  readonly key: string;
  /** Number of the client for queues in other threads; 0 = the first one, or none. */
  readonly number: number;
  /** Memory of its requests, in bytes. */
  bytes = 0;
  /** Its requests under way, streams included. */
  requests = 0;
  /** Requests of it that have been admitted to run. */
  places = 0;

  constructor(key: string, number = 0) {
    this.key = key;
    this.number = number;
  }

  /** True where it holds nothing, and may be forgotten. */
  get isIdle(): boolean {
    return this.requests === 0 && this.bytes === 0;
  }
}

/**
 * The accounts of all clients, of which a bounded number is remembered: beyond it those are forgotten that hold
 * nothing, and have been quiet for longest.
 */
export class ClientAccounts {
  /** The account of requests of the server itself, and of those whose client is not known yet. */
  readonly none = new ClientAccount("");
  readonly #maxClients: number;
  /** Half of the clients at most: those that have sent something since it was empty. */
  #recent = new Map<string, ClientAccount>();
  /** Others, which were in the former map before. */
  #older = new Map<string, ClientAccount>();
  #nextNumber = 0;

  constructor(maxClients = MAX_CLIENTS) {
    this.#maxClients = maxClients;
  }

  /** Number of clients that are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** The account of the client with a key. */
  of(key: string): ClientAccount {
    return key === "" ? this.none : (this.#recent.get(key) ?? this.#remember(key));
  }

  #remember(key: string): ClientAccount {
    const account = this.#older.get(key) ?? new ClientAccount(key, this.#nextNumber++);
    this.#older.delete(key);
    if (this.#recent.size >= this.#maxClients / 2) this.#forget();
    this.#recent.set(key, account);
    return account;
  }

  /** Makes room. A client that holds something stays: its requests are limited already. */
  #forget(): void {
    const [former, recent] = [this.#older, new Map<string, ClientAccount>()];
    for (const [key, account] of former) if (!account.isIdle) recent.set(key, account);
    this.#older = this.#recent;
    this.#recent = recent;
  }
}
