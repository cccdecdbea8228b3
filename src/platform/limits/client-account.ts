/** All that one client holds of a server now: an address, a /64 of IPv6, or a user if it has authenticated. */
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

  /** True if it holds nothing, and may be forgotten. */
  get isIdle(): boolean {
    return this.requests === 0 && this.bytes === 0;
  }
}

/** The accounts of all clients; those that hold something are not forgotten. */
export class ClientAccounts {
  /** The account of requests of the server itself, and of those whose client is not known yet. */
  readonly none = new ClientAccount("");
  readonly #table: ClientTable<ClientAccount>;
  #nextNumber = 0;

  /** `maxClients`: accounts that are remembered. */
  constructor(maxClients?: number) {
    const create = (key: string) => new ClientAccount(key, this.#nextNumber++);
    this.#table = new ClientTable({ create, isBusy: ({ isIdle }) => !isIdle, maxClients });
  }

  /** The account of the client with a key. */
  of(key: string): ClientAccount {
    return key === "" ? this.none : this.#table.of(key);
  }
}

/** Clients that are remembered: what an attacker with many addresses can make a table grow to. */
export const MAX_CLIENTS = 50_000;

/** Rules of a {@link ClientTable}. */
export interface ClientTableRules<Client> {
  /** Makes the entry of a client that is new, or was forgotten. */
  readonly create: (key: string) => Client;
  /** True for a client that is not forgotten, since something of it is under way. */
  readonly isBusy: (client: Client) => boolean;
  /** Clients that are remembered. Default 50 000. */
  readonly maxClients?: number | undefined;
  /** Busy clients that are not forgotten, of those that have been quiet for longest. Default: all. */
  readonly maxBusy?: number;
}

/**
 * Entries of clients by their keys. A bounded number of clients is remembered: beyond it those are forgotten that are
 * not busy, and have been quiet for longest.
 */
export class ClientTable<Client> {
  readonly #rules: ClientTableRules<Client>;
  /** Half of the clients: those that were asked for since it was empty. */
  #recent = new Map<string, Client>();
  /** Others, which were in the former map before. */
  #older = new Map<string, Client>();
  /** Number of recent clients after which the older ones are forgotten. */
  #maxRecent: number;

  constructor(rules: ClientTableRules<Client>) {
    this.#rules = rules;
    this.#maxRecent = this.#half;
  }

  /** Number of clients that are remembered. */
  get size(): number {
    return this.#recent.size + this.#older.size;
  }

  /** The entry of a client, which counts as asked for. */
  of(key: string): Client {
    return this.#recent.get(key) ?? this.#remember(key);
  }

  get #half(): number {
    return (this.#rules.maxClients ?? MAX_CLIENTS) / 2;
  }

  #remember(key: string): Client {
    const client = this.#older.get(key) ?? this.#rules.create(key);
    this.#older.delete(key);
    if (this.#recent.size >= this.#maxRecent) this.#forget();
    this.#recent.set(key, client);
    return client;
  }

  /** Makes room. The more clients are busy, the later it looks for room again: looking takes a time for each. */
  #forget(): void {
    const { isBusy, maxBusy = Number.POSITIVE_INFINITY } = this.#rules;
    const recent = new Map<string, Client>();
    for (const [key, client] of this.#older) if (recent.size < maxBusy && isBusy(client)) recent.set(key, client);
    this.#older = this.#recent;
    this.#recent = recent;
    this.#maxRecent = Math.max(this.#half, 2 * recent.size);
  }
}
