import { constants, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { MessageClock } from "./message-clock.ts";

/** Largest piece of an answer that is written at once, in bytes: the progress that counts as one. */
const SLICE_BYTES = 256 * 1024;
/** Time that a connection has to acknowledge a ping after one of its streams was cut, in milliseconds. */
const PROBE_MS = 5000;

/** Cuts the clients of one server that take nothing of their answers, whose memory is counted until they are sent. */
export class SendWatch {
  /** Undefined = clients have all the time they like. */
  readonly #clock: MessageClock | undefined;
  readonly #probed = new WeakSet<Http2Session>();

  /** `timeoutMs`: how long a client may take nothing; 0 = for ever. */
  constructor(timeoutMs: number) {
    if (timeoutMs > 0) this.#clock = new MessageClock(timeoutMs);
  }

  /**
   * Watches a stream that is about to be answered with so many bytes, which it writes in slices where they are many.
   * Returns what ends the watch, to be called when the stream has closed.
   */
  begin(stream: ServerHttp2Stream, bytes: number): () => void {
    const cut = () => this.#cut(stream);
    this.#clock?.add(cut);
    if (bytes > SLICE_BYTES) writeInSlices(stream, { wrote: () => this.#restart(cut) });
    return () => this.#clock?.delete(cut);
  }

  /** Watches each write of a stream that somebody else answers, in slices. */
  watchWrites(stream: ServerHttp2Stream): void {
    const cut = () => this.#cut(stream);
    writeInSlices(stream, { wrote: () => this.#restart(cut), done: () => this.#clock?.delete(cut) });
    stream.once("close", () => this.#clock?.delete(cut));
  }

  #restart(cut: () => void): void {
    this.#clock?.delete(cut);
    this.#clock?.add(cut);
  }

  /** Resets the stream; where the whole connection takes nothing, that does not reach it, and it is ended too. */
  #cut(stream: ServerHttp2Stream): void {
    const { session } = stream;
    stream.close(constants.NGHTTP2_CANCEL);
    if (session === undefined || session.destroyed || this.#probed.has(session)) return;
    this.#probed.add(session);
    const timer = setTimeout(() => session.destroy(), PROBE_MS).unref();
    const isSent = session.ping(() => {
      clearTimeout(timer);
      this.#probed.delete(session);
    });
    if (!isSent) session.destroy();
  }
}

interface SliceListener {
  /** Called before each slice. */
  readonly wrote: () => void;
  /** Called after the last slice of a write. */
  readonly done?: () => void;
}

type Done = (error?: Error | null) => void;

/** Node writes a buffer of any size as one, and says nothing until all of it has gone. */
function writeInSlices(stream: ServerHttp2Stream, { wrote, done: ended }: SliceListener): void {
  const write = stream._write;
  stream._write = (data: Buffer, encoding: BufferEncoding, done: Done) => {
    let at = 0;
    const next: Done = (error) => {
      const isOver = at > 0 && at >= data.length;
      if (error || isOver) {
        ended?.();
        done(error);
        return;
      }
      wrote();
      const slice = data.subarray(at, at + SLICE_BYTES);
      at += Math.max(slice.length, 1);
      write.call(stream, slice, encoding, next);
    };
    next();
  };
  // Else what waits meanwhile would be written together.
  Object.defineProperty(stream, "_writev", { value: null });
}
