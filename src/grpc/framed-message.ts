import { encodePieces, type WirePart } from "../tensor/codecs/protobuf/wire-writer.ts";

/** Bytes of gRPC's prefix of each message: a compression flag, and the length. */
export const PREFIX_BYTES = 5;

/** Size above which a message is not copied, in bytes: copying a hundred megabytes would delay all other clients. */
const COPIED_BYTES = 64 * 1024;

/** A message with gRPC's prefix, in one buffer or in several consecutive ones. */
export type FramedMessage = readonly Uint8Array[];

/**
 * Frames a message that consists of parts. With `borrows`, large values are not copied, and must not change until they
 * are sent.
 */
export function frameParts(parts: readonly WirePart[], borrows: boolean): FramedMessage {
  const pieces = encodePieces(parts, { lead: PREFIX_BYTES, borrows });
  writePrefix(pieces[0], framedBytes(pieces) - PREFIX_BYTES);
  return pieces;
}

/** Frames an encoded message. */
export function frameBytes(message: Uint8Array): FramedMessage {
  if (message.length > COPIED_BYTES) {
    const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
    writePrefix(prefix, message.length);
    return [prefix, message];
  }
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  writePrefix(framed, message.length);
  framed.set(message, PREFIX_BYTES);
  return [framed];
}

/** Frames a compressed message. */
export function frameCompressed(pieces: readonly Uint8Array[]): FramedMessage {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  writePrefix(prefix, framedBytes(pieces));
  prefix[0] = 1;
  return [prefix, ...pieces];
}

function writePrefix(framed: Buffer, bytes: number): void {
  framed[0] = 0;
  framed.writeUInt32BE(bytes, 1);
}

/** Size of a message with its prefix, in bytes. */
export function framedBytes(pieces: FramedMessage): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}
