import type { ClientAccount } from "../../platform/limits/client-account.ts";

/** Time in which ends are counted, in milliseconds. */
const WINDOW_MS = 60_000;
/** Ends by one client within that time before it has to wait. */
const MAX_ENDS = 4;
/** Milliseconds that it waits then. */
const WAIT_MS = 20_000;
/** Ends within that time, with requests of several clients in each, before clients run in turn. */
const MAX_UNCLEAR = 2;
/** Clients that are remembered; of more, the oldest are forgotten. */
const MAX_CLIENTS = 256;

/** Counts who ended what runs a model: a client if requests of no other were lost with it. */
export class KillCount {
  readonly #ends = new Map<string, number[]>();
  #unclear: number[] = [];
  #byClientUntil = 0;

  /** Notes an end, and whose requests were lost. */
  add(clients: ReadonlySet<ClientAccount>): void {
    const now = Date.now();
    const [only] = clients;
    if (clients.size === 1 && only !== undefined) {
      const { key } = only;
      const ends = [...recent(this.#ends.get(key) ?? [], now), now];
      this.#ends.delete(key);
      this.#ends.set(key, ends);
      for (const oldest of this.#ends.keys()) if (this.#ends.size > MAX_CLIENTS) this.#ends.delete(oldest);
      return;
    }
    this.#unclear = [...recent(this.#unclear, now), now];
    if (this.#unclear.length >= MAX_UNCLEAR) this.#byClientUntil = now + WINDOW_MS;
  }

  /** True while requests of one client only may run at a time, so that the next end says whose they are. */
  get isByClient(): boolean {
    return Date.now() < this.#byClientUntil;
  }

  /** True if nothing is remembered that still counts. */
  get isOver(): boolean {
    const now = Date.now();
    for (const [key, ends] of this.#ends) if (recent(ends, now).length === 0) this.#ends.delete(key);
    return this.#ends.size === 0 && recent(this.#unclear, now).length === 0 && !this.isByClient;
  }

  /** Milliseconds for which a client has to wait. */
  waitMs({ key }: ClientAccount): number {
    const now = Date.now();
    const ends = recent(this.#ends.get(key) ?? [], now);
    return ends.length < MAX_ENDS ? 0 : Math.max(0, ends.at(-1)! + WAIT_MS - now);
  }
}

function recent(times: readonly number[], now: number): number[] {
  return times.filter((time) => now - time < WINDOW_MS);
}
