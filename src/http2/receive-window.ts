/**
 * Bytes that a peer may send on a stream or a connection (RFC 9113 §6.9). They are granted again once half a window was
 * taken by the program, so that few frames are needed, and a program that takes nothing is sent no more.
 */
export class ReceiveWindow {
  #size: number;
  #left: number;
  #taken = 0;

  constructor(bytes: number) {
    this.#size = bytes;
    this.#left = bytes;
  }

  /** Counts received bytes; returns false if the peer was not allowed to send them. */
  receive(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }

  /**
   * Counts bytes that the program has taken; returns those that the peer is to be granted now, at most so many: 0, as
   * long as there are few.
   */
  take(bytes: number, most = Number.POSITIVE_INFINITY): number {
    this.#taken += bytes;
    return this.#taken < this.#size / 2 ? 0 : this.#grantTaken(most);
  }

  #grantTaken(most = Number.POSITIVE_INFINITY): number {
    const granted = Math.min(most, this.#taken);
    this.#taken -= granted;
    this.#left += granted;
    return granted;
  }

  /**
   * Makes the window larger if little of it is left, since others wait for the program; returns the bytes that the peer
   * is to be granted.
   */
  relieve(mostSize: number): number {
    if (this.#left >= this.#size / 4) return 0;
    return this.#size < mostSize ? this.widen(Math.min(mostSize, 2 * this.#size)) : this.#grantTaken();
  }

  /** Makes the window larger; returns the bytes that the peer is to be granted. */
  widen(size: number): number {
    const granted = Math.max(0, size - this.#size);
    this.#size += granted;
    this.#left += granted;
    return granted;
  }
}
