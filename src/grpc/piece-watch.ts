/** Pieces of one message that may be small. */
const SMALL_PIECES = 2000;
/** Average number of bytes that pieces hold at least beyond that. Clients cut messages into frames of kilobytes. */
const MIN_MEAN_BYTES = 16;

/** Tells a message that comes in absurdly small pieces: each of them costs the main thread as much as a large one. */
export class PieceWatch {
  #pieces = 0;
  #bytes = 0;

  /** Counts a piece; whether the message is given up, since there are thousands of a few bytes each. */
  isFlood(bytes: number): boolean {
    this.#pieces++;
    this.#bytes += bytes;
    return this.#pieces > SMALL_PIECES && this.#bytes < MIN_MEAN_BYTES * this.#pieces;
  }

  /** Begins with the next message. */
  restart(): void {
    this.#pieces = 0;
    this.#bytes = 0;
  }
}
