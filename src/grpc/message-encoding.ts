import type { IncomingHttpHeaders } from "node:http2";
import { createDeflate, createGzip } from "node:zlib";
import { ServingError } from "../errors.ts";
import { type Compression, isCompression } from "../limits/inflate.ts";
import { type FramedMessage, PREFIX_BYTES } from "./framed-message.ts";

/** The encodings of messages that the server reads and writes, as `grpc-accept-encoding` lists them. */
export const ACCEPTED_ENCODINGS = "identity,deflate,gzip";

const COMPRESSORS = { gzip: createGzip, deflate: createDeflate } as const;
/** Smaller messages are sent as they are: compression saves less than it costs. */
const MIN_BYTES = 256;
/** Size of the pieces in which compressed bytes come; larger than zlib's own for fewer events. */
const CHUNK_BYTES = 64 * 1024;

/** Compression of a call's messages, in both directions; undefined = none. */
export interface CallEncoding {
  /** Of the messages that say that they are compressed. */
  readonly request: Compression | undefined;
  /** The client's own encoding, where it accepts that in answers too. */
  readonly response: Compression | undefined;
}

const PLAIN: CallEncoding = { request: undefined, response: undefined };

/** Reads the encodings of a call from its headers; throws `unimplemented` for one that the server does not know. */
export function readEncoding(headers: IncomingHttpHeaders): CallEncoding {
  const encoding = headers["grpc-encoding"] as string | undefined;
  if (encoding === undefined || encoding === "identity") return PLAIN;
  if (!isCompression(encoding)) {
    const expected = `The grpc-encoding "${encoding}" is not supported; send gzip, deflate or identity.`;
    throw new ServingError("unimplemented", expected);
  }
  const accepted = String(headers["grpc-accept-encoding"] ?? "").split(/\s*,\s*/);
  return { request: encoding, response: accepted.includes(encoding) ? encoding : undefined };
}

/** The message compressed, unless it is small. */
export async function compressMessage(message: FramedMessage, compression: Compression): Promise<FramedMessage> {
  const bytes = message.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes < MIN_BYTES) return message;
  const stream = COMPRESSORS[compression]({ chunkSize: CHUNK_BYTES });
  const [first, ...rest] = message as readonly [Uint8Array, ...Uint8Array[]];
  for (const piece of [first.subarray(PREFIX_BYTES), ...rest]) stream.write(piece);
  stream.end();
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  const prefix = Buffer.of(1, 0, 0, 0, 0);
  prefix.writeUInt32BE(
    pieces.reduce((sum, piece) => sum + piece.length, 0),
    1,
  );
  return [prefix, ...pieces];
}
