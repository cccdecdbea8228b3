import { ServingError } from "../errors.ts";
import type { ReceivedFields } from "../http2/message-head.ts";
import { type Compression, compress, isCompression } from "../platform/limits/compression.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { type FramedMessage, frameCompressed, PREFIX_BYTES } from "./framed-message.ts";

/** The encodings of messages that the server reads and writes, as `grpc-accept-encoding` lists them. */
export const ACCEPTED_ENCODINGS = "identity,deflate,gzip";

/** Compression of a call's messages, in both directions; undefined = none. */
export interface CallEncoding {
  /** Compression of request messages that have the compressed flag. */
  readonly request: Compression | undefined;
  /** The client's own encoding, if it also accepts it in answers. */
  readonly response: Compression | undefined;
}

const PLAIN: CallEncoding = { request: undefined, response: undefined };

/** Reads the encodings of a call from its headers; throws `unimplemented` for one that the server does not know. */
export function readEncoding(headers: ReceivedFields): CallEncoding {
  const encoding = headers["grpc-encoding"];
  if (encoding === undefined || encoding === "identity") return PLAIN;
  if (!isCompression(encoding)) {
    const expected = `The grpc-encoding "${encoding}" is not supported; send gzip, deflate or identity.`;
    throw new ServingError("unimplemented", expected);
  }
  // Not by a pattern of spaces, whose time grows with the square of their number.
  const accepted = (headers["grpc-accept-encoding"] ?? "").split(",");
  return { request: encoding, response: accepted.some((name) => name.trim() === encoding) ? encoding : undefined };
}

/** The message compressed, unless it is small; `memory` counts the new bytes in addition to the old ones. */
export async function compressMessage(
  message: FramedMessage,
  compression: Compression,
  memory: MemoryShare,
): Promise<FramedMessage> {
  const [first, ...rest] = message as readonly [Uint8Array, ...Uint8Array[]];
  const plain = [first.subarray(PREFIX_BYTES), ...rest];
  const compressed = await compress(plain, compression, (bytes) => memory.grow(bytes));
  return compressed === undefined ? message : frameCompressed(compressed);
}
