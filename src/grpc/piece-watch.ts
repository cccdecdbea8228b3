/** Number of pieces of one message that may be small. */
const SMALL_PIECES = 2000;
/** Minimum average size of further pieces, in bytes. Clients cut messages into frames of kilobytes. */
const MIN_MEAN_BYTES = 16;

/** Detects a message in absurdly small pieces: each costs the main thread as much as a large one. */
export class PieceWatch {
  #pieces = 0;
  #bytes = 0;

  /** Counts a piece; returns true once there are thousands of tiny ones. */
  isFlood(bytes: number): boolean {
    this.#pieces++;
    this.#bytes += bytes;
    return this.#pieces > SMALL_PIECES && this.#bytes < MIN_MEAN_BYTES * this.#pieces;
  }

  /** Restarts for the next message. */
  restart(): void {
    this.#pieces = 0;
    this.#bytes = 0;
  }
}
