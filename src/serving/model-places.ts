import { ServingError } from "../errors.ts";

/** Limits on the requests of one model, all its versions together. */
export interface QueueLimits {
  /** Maximum number of requests, waiting or running; absent = the server's limit. */
  readonly maxQueue?: number | undefined;
  /**
   * Maximum number of bytes that they hold when they begin to wait; absent = the server's limit. A single request is
   * always admitted.
   */
  readonly maxQueueBytes?: number | undefined;
}

/** One place in so many is kept, beyond a model's own, for clients that have few requests under way. */
export const RESERVE_SHARE = 16;

/** Counts the requests of one model, so that a slow model does not use up the places of others. */
export class ModelPlaces {
  readonly #model: string;
  #maxCount = Number.POSITIVE_INFINITY;
  #maxBytes = Number.POSITIVE_INFINITY;
  #count = 0;
  #bytes = 0;

  constructor(model: string) {
    this.#model = model;
  }

  /** Number of its requests under way. */
  get count(): number {
    return this.#count;
  }

  /** True if half of its places, or of its bytes, are taken. */
  get isHalfFull(): boolean {
    return this.#count >= this.#maxCount / 2 || this.#bytes >= this.#maxBytes / 2;
  }

  /** Changes the limits; admitted requests stay. */
  limit({ maxQueue, maxQueueBytes }: QueueLimits): void {
    this.#maxCount = maxQueue ?? Number.POSITIVE_INFINITY;
    this.#maxBytes = maxQueueBytes ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Admits a request of a number of bytes; throws `unavailable` if there is no room for it, nor a place that is kept
   * for clients with as few `places` as its own has.
   */
  enter(bytes: number, client?: { readonly places: number }): void {
    const kept = Math.floor(this.#maxCount / RESERVE_SHARE) - (this.#count - this.#maxCount);
    if (this.#count >= this.#maxCount && (client === undefined || client.places >= kept))
      throw this.#full(`has ${this.#count} requests under way already (its maxQueue)`);
    if (this.#count > 0 && this.#bytes + bytes > this.#maxBytes)
      throw this.#full(`has requests under way that hold ${this.#bytes} bytes (its maxQueueBytes ${this.#maxBytes})`);
    this.#count++;
    this.#bytes += bytes;
  }

  /** To be called with the same number of bytes when an admitted request is over. */
  leave(bytes: number): void {
    this.#count--;
    this.#bytes -= bytes;
  }

  #full(why: string): ServingError {
    return new ServingError("unavailable", `The model ${this.#model} ${why}; try again later.`);
  }
}
