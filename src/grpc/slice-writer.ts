import type { SentHeaders } from "../http2/hpack-encoder.ts";
import type { ServerStream } from "../http2/server-session.ts";
import { type FramedMessage, framedBytes } from "./framed-message.ts";
import type { SendGuard } from "./send-watch.ts";

/** Size up to which a message is written at once, in bytes: a photo of 602 KB took a quarter longer in slices. */
const WHOLE_BYTES = 1024 * 1024;
/** Size of the slices of a larger one, in bytes: the end of a write is reported only once all of it has been sent. */
const SLICE_BYTES = 256 * 1024;

/** The end of an answer. */
interface LastMessage {
  readonly message: FramedMessage;
  readonly trailers: SentHeaders;
}

/** Writes the only message of an answer and ends the stream. */
export function writeLast(stream: ServerStream, guard: SendGuard, { message: pieces, trailers }: LastMessage): void {
  guard.restart(framedBytes(pieces));
  if (pieces.some(({ length }) => length > WHOLE_BYTES)) {
    void new SliceWriter(stream, guard).write(pieces).then(() => stream.end(undefined, trailers));
    return;
  }
  const last = pieces.length - 1;
  for (let index = 0; index < last; index++) stream.write(pieces[index] as Uint8Array);
  stream.end(pieces[last], trailers);
}

/** Writes messages to a stream in slices, so that its guard sees a slow client make progress. */
export class SliceWriter {
  readonly #stream: ServerStream;
  readonly #guard: SendGuard;
  /** Ends the wait for a slice; undefined = none is waited for. */
  #endWait: (() => void) | undefined;

  constructor(stream: ServerStream, guard: SendGuard) {
    this.#stream = stream;
    this.#guard = guard;
    // A closing stream drops the callbacks of waiting writes.
    stream.once("close", () => this.#endWait?.());
  }

  /** Resolves once the whole message has been sent, or the stream has closed; to be called for one at a time. */
  async write(pieces: FramedMessage): Promise<void> {
    for (const piece of pieces) {
      const size = piece.length > WHOLE_BYTES ? SLICE_BYTES : WHOLE_BYTES;
      for (let at = 0; at < piece.length && !this.#stream.closed; at += size) {
        const slice = piece.subarray(at, at + size);
        this.#guard.restart(slice.length);
        await this.#written(slice);
      }
    }
    this.#guard.stop();
  }

  #written(slice: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#endWait = () => {
        this.#endWait = undefined;
        resolve();
      };
      this.#stream.write(slice, this.#endWait);
    });
  }
}
