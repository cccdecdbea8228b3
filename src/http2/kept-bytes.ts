import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import type { SessionStream } from "./session-stream.ts";

/**
 * Counts what waits in a stream for its receiver, or for there to be one, as memory of its request, until it is taken
 * or the stream is over. It asks for room by its own size, as a small request does; whose requests are ended for it, or
 * end for others, depends on all that its request and its client hold.
 */
export class KeptBytes {
  readonly #stream: SessionStream;
  readonly #part: MemoryShare;

  constructor(stream: SessionStream, memory: MemoryShare) {
    this.#stream = stream;
    this.#part = memory.split(0);
    stream.once("close", () => this.#part.release());
  }

  /** To be called when that has changed; throws `unavailable` if there is no room. */
  count(): void {
    this.#part.setTo(this.#stream.readableLength);
  }
}
