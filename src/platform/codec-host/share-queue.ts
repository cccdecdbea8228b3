/** The client of a job: one object for all its jobs. */
export type JobClient = object;

/** A place in a {@link ShareQueue}. */
export interface JobPlace {
  /** Bytes that the job reads or writes. */
  readonly cost: number;
  /** The client whose share it takes; absent = that of all jobs without a client. */
  readonly client?: JobClient | undefined;
}

/** Bytes for which an equally old job of the same client may wait a millisecond longer: what JSON is read at. */
const BYTES_PER_MS = 30 * 1024;
/** The client of jobs that have none. */
const NO_CLIENT: JobClient = {};

/** Bytes that each client has been given, for queues among which clients have one share. */
export class ShareClock {
  /** Bytes at which a client's next job starts. */
  readonly #starts = new WeakMap<JobClient, number>();
  readonly #queues: { readonly nextStart: number }[] = [];
  /** The least start of a job that waited when one was taken last. */
  #now = 0;

  /** Adds a queue of the same clients. */
  add(queue: { readonly nextStart: number }): void {
    this.#queues.push(queue);
  }

  /** Start of a client's next job. */
  startOf(client: JobClient): number {
    return this.#starts.get(client) ?? 0;
  }

  /** To be called for a client that begins to wait: time in which it had nothing to do earns it nothing. */
  begin(client: JobClient): void {
    this.#starts.set(client, Math.max(this.#now, this.startOf(client)));
  }

  /** To be called before a job leaves its queue. */
  take(client: JobClient, cost: number): void {
    const least = Math.min(...this.#queues.map(({ nextStart }) => nextStart));
    this.#now = Math.max(this.#now, least);
    this.#starts.set(client, this.startOf(client) + cost);
  }
}

interface Waiting<Item> {
  readonly item: Item;
  readonly cost: number;
  readonly due: number;
}

/**
 * A queue that gives each client the same number of bytes, together with those from other queues of the same clock: the
 * next job is one of the client that had fewest since it began to wait (start-time fair queueing), however many jobs
 * others have waiting. Among a client's own jobs small ones go first, but overtake a large one only while it is young.
 */
export class ShareQueue<Item> {
  /** Jobs of each client that has any, in their order. */
  readonly #waiting = new Map<JobClient, Waiting<Item>[]>();
  readonly #clock: ShareClock;

  constructor(clock = new ShareClock()) {
    this.#clock = clock;
    clock.add(this);
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Bytes at which the next job starts; infinite if there is none. */
  get nextStart(): number {
    const client = this.#next();
    return client === undefined ? Number.POSITIVE_INFINITY : this.#clock.startOf(client);
  }

  push(item: Item, { cost, client = NO_CLIENT }: JobPlace): void {
    const due = performance.now() + cost / BYTES_PER_MS;
    const own = this.#waiting.get(client) ?? [];
    let index = own.length;
    while (index > 0 && own[index - 1]!.due > due) index--;
    own.splice(index, 0, { item, cost, due });
    if (own.length === 1) this.#begin(client, own);
  }

  /** The next job; it stays. */
  peek(): Item | undefined {
    const client = this.#next();
    return client && this.#waiting.get(client)?.[0]?.item;
  }

  /** Removes the next job. */
  shift(): void {
    const client = this.#next();
    if (client === undefined) return;
    const own = this.#waiting.get(client)!;
    this.#clock.take(client, own[0]!.cost);
    own.shift();
    if (own.length === 0) this.#waiting.delete(client);
  }

  /** Removes a job, if it waits here. */
  remove(item: Item): void {
    for (const [client, own] of this.#waiting) {
      const index = own.findIndex((waiting) => waiting.item === item);
      if (index < 0) continue;
      own.splice(index, 1);
      if (own.length === 0) this.#waiting.delete(client);
      return;
    }
  }

  #begin(client: JobClient, own: Waiting<Item>[]): void {
    this.#waiting.set(client, own);
    this.#clock.begin(client);
  }

  #next(): JobClient | undefined {
    let best: JobClient | undefined;
    for (const client of this.#waiting.keys()) {
      if (best === undefined || this.#clock.startOf(client) < this.#clock.startOf(best)) best = client;
    }
    return best;
  }
}
