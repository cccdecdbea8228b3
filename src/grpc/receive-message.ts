import type { ServerHttp2Stream } from "node:http2";
import type { CancelSource } from "../platform/async/cancel-source.ts";
import { goOnTogether } from "../platform/limits/work-turns.ts";
import { receiveInto, type StreamReceiver } from "../platform/net/node-members.ts";
import { endFlood } from "./end-flood.ts";
import type { MessageReader } from "./message-reader.ts";
import { PacedConnection } from "./paced-connection.ts";
import { PieceWatch } from "./piece-watch.ts";

/**
 * Reads a stream's message with a reader. Resolves with the message; rejects when it
 * is invalid, or when the source aborts.
 */
export function receiveMessage(
  stream: ServerHttp2Stream,
  reader: MessageReader,
  source: CancelSource,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const receiver = new MessageReceiver(stream, reader, reject);
    // Node has buffered data of a call that waited for its turn, or that arrived with its connection's preface; without
    // data, the stream has ended.
    if (stream.readableEnded) return receiver.finish(resolve);
    if (stream.readableLength === 0 && receiveInto(stream, receiver)) stream.resume();
    else stream.on("data", (piece: Buffer) => receiver.take(piece));
    stream.on("end", () => receiver.finish(resolve));
    source.addEventListener("abort", () => receiver.refuse(source.reason));
  });
}

class MessageReceiver implements StreamReceiver {
  readonly #stream: ServerHttp2Stream;
  readonly #pieces = new PieceWatch();
  readonly #reader: MessageReader;
  readonly #reject: (reason: unknown) => void;
  readonly #connection: PacedConnection | undefined;

  constructor(stream: ServerHttp2Stream, reader: MessageReader, reject: (reason: unknown) => void) {
    this.#stream = stream;
    this.#reader = reader;
    this.#reject = reject;
    this.#connection = PacedConnection.of(stream.session);
  }

  writeBuffer(): Uint8Array {
    return this.#reader.writeBuffer();
  }

  commit(bytes: number): void {
    this.#count(bytes);
    try {
      this.#reader.commit(bytes);
    } catch (reason) {
      this.refuse(reason);
    }
  }

  take(piece: Buffer): void {
    this.#count(piece.length);
    try {
      this.#reader.add(piece);
    } catch (reason) {
      this.refuse(reason);
    }
  }

  finish(resolve: (message: Uint8Array) => void): void {
    try {
      const message = this.#reader.finish();
      goOnTogether(message.length, () => resolve(message));
    } catch (reason) {
      this.refuse(reason);
    }
  }

  /** Discards the message and later bytes. */
  refuse(reason: unknown): void {
    this.#reader.drop();
    this.#reject(reason);
  }

  #count(bytes: number): void {
    this.#connection?.beginPiece(bytes);
    if (this.#pieces.isFlood(bytes)) endFlood(this.#stream.session, "too_many_small_frames");
  }
}
