import { ServingError } from "../../errors.ts";
import { retryInfo } from "../../retry-info.ts";
import { ClientTable, MAX_CLIENTS } from "./client-account.ts";

/** Time after which a client with too many requests in flight may try again, in milliseconds. */
const BUSY_RETRY_MS = 1000;

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
