import { pipeline, Readable } from "node:stream";
import { createDeflate, createGzip } from "node:zlib";
import type { Compression } from "./inflate.ts";

const COMPRESSORS = { gzip: createGzip, deflate: createDeflate } as const;
/** Size below which compression makes an answer longer, or saves less than it costs. */
const MIN_BYTES = 256;
/** Size of compressed pieces, in bytes; above zlib's default, for fewer turns of the event loop. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Compresses the bytes of an answer; undefined for a small one. `count` is called with the number of new bytes as they
 * are created, and throws where there is no room for them.
 */
export async function compress(
  answer: readonly Uint8Array[],
  how: Compression,
  count: (bytes: number) => void,
): Promise<Uint8Array[] | undefined> {
  const bytes = answer.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes < MIN_BYTES) return undefined;
  const stream = COMPRESSORS[how]({ chunkSize: CHUNK_BYTES });
  for (const piece of answer) stream.write(piece);
  stream.end();
  const pieces: Uint8Array[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) {
    count(piece.length);
    pieces.push(piece);
  }
  return pieces;
}

/** Compresses bytes while they arrive; takes no more of them than its reader does. Fails as they fail. */
export function compressStream(parts: AsyncIterable<Uint8Array>, how: Compression): AsyncIterable<Uint8Array> {
  const stream = COMPRESSORS[how]({ chunkSize: CHUNK_BYTES });
  // The reader gets the error.
  pipeline(Readable.from(parts), stream, () => {});
  return stream;
}
