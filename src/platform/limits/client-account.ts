import { ServingError } from "../../errors.ts";
import { retryInfo } from "../../retry-info.ts";

/** Time after which a client with too many requests in flight may try again, in milliseconds. */
const BUSY_RETRY_MS = 1000;

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

/** Limits of each client's requests. */
export interface ClientRules {
  /** Requests per second in the long run; 0 = no limit. */
  readonly rate: number;
  /** Requests that may come at once after a pause. Default: those of a second. */
  readonly burst?: number | undefined;
  /** Requests at a time; 0 = no limit. */
  readonly maxInFlight: number;
  /** Clients that are remembered. Default 50 000. */
  readonly maxClients?: number;
}

interface Client {
  /** Requests that it may send now; below 0 if it waits for its turn. */
  tokens: number;
  /** Time at which they were counted, in milliseconds. */
  countedAt: number;
  inFlight: number;
}

/**
 * Counts each client's requests: a token bucket for their rate, and those in flight. It remembers a bounded number of
 * clients; those that are forgotten begin afresh.
 */
export class ClientLimits {
  readonly #rate: number;
  readonly #burst: number;
  readonly #maxInFlight: number;
  readonly #clients: ClientTable<Client>;
  readonly #now: () => number;

  constructor({ rate, burst, maxInFlight, maxClients = MAX_CLIENTS }: ClientRules, now = () => performance.now()) {
    this.#rate = rate;
    this.#burst = burst ?? Math.max(1, Math.ceil(rate));
    this.#maxInFlight = maxInFlight;
    this.#now = now;
    this.#clients = new ClientTable({
      create: () => ({ tokens: this.#burst, countedAt: now(), inFlight: 0 }),
      isBusy: ({ inFlight }) => inFlight > 0,
      maxClients,
      maxBusy: maxClients / 4,
    });
  }

  /** Number of clients that are remembered. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * Begins a request of a client; returns its end, which may be called again. Throws `resource_exhausted`, with the
   * time after which to try again.
   */
  begin(key: string): () => void {
    const client = this.#client(key);
    if (this.#maxInFlight > 0 && client.inFlight >= this.#maxInFlight) throw tooMany(this.#maxInFlight);
    if (this.#rate > 0 && client.tokens < 1) throw tooFast(this.#rate, this.#burst, this.#waitMs(client, 1));
    client.tokens--;
    client.inFlight++;
    let isOver = false;
    return () => {
      if (!isOver) client.inFlight--;
      isOver = true;
    };
  }

  /** Counts a further message of a stream; returns the time for which it has to wait, in milliseconds. */
  reserve(key: string): number {
    if (this.#rate === 0) return 0;
    const client = this.#client(key);
    client.tokens--;
    return this.#waitMs(client, 0);
  }

  #waitMs({ tokens }: Client, wanted: number): number {
    return Math.max(0, ((wanted - tokens) / this.#rate) * 1000);
  }

  #client(key: string): Client {
    const client = this.#clients.of(key);
    const now = this.#now();
    const earned = ((now - client.countedAt) / 1000) * this.#rate;
    client.tokens = Math.min(this.#burst, client.tokens + earned);
    client.countedAt = now;
    return client;
  }
}

function tooFast(rate: number, burst: number, waitMs: number): ServingError {
  const seconds = Math.max(0.1, Math.ceil(waitMs / 100) / 10);
  const message = `The client sends more than ${rate} requests per second (--client-rate; ${burst} at once: --client-burst). Send again in ${seconds} s.`;
  return new ServingError("resource_exhausted", message, { details: [retryInfo(Math.ceil(waitMs))] });
}

function tooMany(maxInFlight: number): ServingError {
  const requests = maxInFlight === 1 ? "1 request" : `${maxInFlight} requests`;
  const message = `The client has ${requests} in flight, the most that one may have (--client-max-in-flight). Send again when one is answered.`;
  return new ServingError("resource_exhausted", message, { details: [retryInfo(BUSY_RETRY_MS)] });
}
