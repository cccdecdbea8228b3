import { ClientTable } from "./client-table.ts";

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
