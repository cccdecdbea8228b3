/**
 * Most streams whose late frames are known as such: as many as a client may have at once that begins calls before it
 * has read the settings, since more of them would be useless frames.
 */
const MAX_REMEMBERED = 2048;

/**
 * Streams that were reset before the client had ended them: frames that it sent before it knew may still come. The
 * oldest are forgotten.
 */
export class ResetStreams {
  /** True for those that the client reset itself, and that it was not told of since. */
  readonly #byId = new Map<number, boolean>();

  add(id: number, byClient: boolean): void {
    this.#byId.set(id, byClient);
    if (this.#byId.size > MAX_REMEMBERED) this.#byId.delete(this.#byId.keys().next().value as number);
  }

  /** To be called when the client has ended a stream: no more frames of it come. */
  delete(id: number): void {
    this.#byId.delete(id);
  }

  /** True if a frame of the stream may still come. */
  has(id: number): boolean {
    return this.#byId.has(id);
  }

  /** True if a stream was reset here. */
  wasResetHere(id: number): boolean {
    return this.#byId.get(id) === false;
  }

  /**
   * Takes a late frame; returns true if the client is to be told once, since it reset the stream itself: clients of
   * Netty then still send data that was queued.
   */
  isToBeTold(id: number): boolean {
    const isToBeTold = this.#byId.get(id) === true;
    if (isToBeTold) this.#byId.set(id, false);
    return isToBeTold;
  }
}
