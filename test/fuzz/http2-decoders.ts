import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ServingError } from "../../src/errors.ts";
import { type FrameHead, FrameReader, type FrameSink } from "../../src/http2/frame-reader.ts";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { ConnectionError, FLAG, FRAME, PREFACE } from "../../src/http2/protocol.ts";
import { ServerSession, type ServerStream } from "../../src/http2/server-session.ts";
import { answerRequests, LIMITS } from "../http2/differential/answer.ts";
import { recordedBytes } from "../http2/differential/differential.ts";
import { ReceivedFrames } from "../http2/received-frames.ts";
import type { Decoder } from "./decoder.ts";

/** Limits that a block can reach. */
const BLOCK_LIMITS = { maxBytes: 2000, maxFields: 20 };
/** Turns after which a session has answered all that it can. */
const TURNS = 3;
/** Bytes of the pieces in which frames are read again. */
const PIECE_BYTES = 7;

/** Decoders of what HTTP/2 consists of: the frames of a connection behind its preface, and a block of fields. */
export function http2Decoders(): Decoder[] {
  const connections = Object.values(recordedBytes()).map((bytes) => bytes.subarray(PREFACE.length));
  // Later ones may need what the first has added to the table.
  const blocks = connections.flatMap((bytes) => {
    const first = new ReceivedFrames().add(bytes).find(({ type }) => type === FRAME.headers);
    return first === undefined || (first.flags & FLAG.priority) !== 0 ? [] : [first.payload];
  });
  return [
    {
      name: "HTTP/2 frames",
      samples: connections,
      decode: async (bytes) => {
        assert.deepEqual(framesOf(bytes, PIECE_BYTES), framesOf(bytes, bytes.length));
        await serve(bytes);
      },
    },
    {
      name: "a header block",
      samples: blocks,
      decode: decodeTwice,
    },
  ];
}

/** The frames that a reader finds in bytes that come in pieces, and the error that ends them. */
function framesOf(bytes: Buffer, pieceBytes: number): readonly unknown[] {
  const all: unknown[] = [];
  let data: Buffer[] = [];
  const sink: FrameSink = {
    takeFrame: (head: FrameHead, from, start, end) => all.push({ ...head }, Buffer.from(from.subarray(start, end))),
    beginData: (head, paddingBytes) => {
      data = [];
      all.push({ ...head, paddingBytes });
    },
    takeData: (from, start, end) => data.push(Buffer.from(from.subarray(start, end))),
    endData: () => all.push(Buffer.concat(data)),
  };
  const reader = new FrameReader(sink);
  try {
    for (let start = 0; start < bytes.length; start += pieceBytes) {
      const piece = Buffer.from(bytes.subarray(start, start + pieceBytes));
      for (let at = 0; at < piece.length; ) at = reader.next(piece, at);
    }
  } catch (reason) {
    if (!(reason instanceof ConnectionError)) throw reason;
    all.push(reason.message);
  }
  return all;
}

/** A connection without a network: keeps what is written, and gives what it is told. */
class Wire extends Duplex {
  readonly written: Buffer[] = [];

  override _read(): void {}

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.written.push(Buffer.from(bytes));
    done();
  }

  setNoDelay(): this {
    return this;
  }
}

/** Throws unless a session answers in whole frames that end as an error says, and then lets go of all its streams. */
async function serve(bytes: Buffer): Promise<void> {
  const wire = new Wire();
  const session = new ServerSession(wire as unknown as Socket, LIMITS);
  const open = new Set<ServerStream>();
  session.on("stream", (stream) => {
    open.add(stream);
    stream.once("close", () => open.delete(stream));
  });
  answerRequests(session);
  wire.push(PREFACE);
  if (bytes.length > 0) wire.push(Buffer.from(bytes));
  for (let turn = 0; turn < TURNS; turn++) await nextTurn();
  const ended = session.destroyed;
  wire.destroy();
  await nextTurn();
  const sent = Buffer.concat(wire.written);
  const frames = new ReceivedFrames().add(sent);
  assert.equal(
    frames.reduce((sum, { payload }) => sum + 9 + payload.length, 0),
    sent.length,
  );
  assert.equal(open.size + session.streams.size, 0);
  const goaway = frames.find(({ type }) => type === FRAME.goaway);
  if (!ended) return;
  throw new ServingError("invalid_argument", goaway?.payload.toString("latin1", 8) ?? "no reason");
}

/** Decodes a block twice on one connection, of which the table may then change what it says, but not if it is valid. */
function decodeTwice(bytes: Buffer): void {
  const decoder = new HpackDecoder(BLOCK_LIMITS);
  try {
    decoder.decode(bytes, 0, bytes.length);
    const { fields, isTooLarge } = decoder.decode(bytes, 0, bytes.length);
    assert.ok(fields.length <= BLOCK_LIMITS.maxFields);
    const size = fields.reduce((sum, field) => sum + field.size, 0);
    assert.ok(size <= BLOCK_LIMITS.maxBytes);
    if (isTooLarge) throw new ServingError("invalid_argument", "The list is too large.");
  } catch (reason) {
    if (!(reason instanceof ConnectionError)) throw reason;
    throw new ServingError("invalid_argument", reason.message);
  }
}
