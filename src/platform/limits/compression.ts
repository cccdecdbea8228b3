import { pipeline, Readable } from "node:stream";
import { createDeflate, createGunzip, createGzip, createInflate } from "node:zlib";
import { invalidArgument, ServingError } from "../../errors.ts";
import { ByteList } from "./memory/byte-list.ts";
import type { MemoryShare } from "./memory/memory-share.ts";

/** Compressions that clients may use. */
export const COMPRESSIONS = { gzip: createGunzip, deflate: createInflate } as const;
/** A key of {@link COMPRESSIONS}. */
export type Compression = keyof typeof COMPRESSIONS;

/** Limits on inflated bytes. */
interface InflateLimits {
  /** Maximum number of inflated bytes. */
  readonly maxBytes: number;
  /** Count of the inflated bytes. */
  readonly memory: MemoryShare;
  /** Bytes to be put before them: later, all of them would be copied for that. */
  readonly lead?: Uint8Array;
}

/** Size of inflated pieces, in bytes; above zlib's default, for fewer turns of the event loop. */
const CHUNK_BYTES = 64 * 1024;

/** Bytes that one byte becomes at most, in deflate: a stated size that is a lie gets no more room than that. */
const MAX_RATIO = 1032;

const NO_BYTES = new Uint8Array(0);

/** Checks that a name is one of {@link COMPRESSIONS}. */
export function isCompression(name: string): name is Compression {
  return Object.hasOwn(COMPRESSIONS, name);
}

/**
 * Inflates a body or a message, up to the limits. Rejects with `resource_exhausted` over `maxBytes`, with `unavailable`
 * if memory is used up, with `invalid_argument` for data that is not compressed in this way.
 */
export function inflate(bytes: Uint8Array, how: Compression, limits: InflateLimits): Promise<Uint8Array> {
  const { maxBytes, memory, lead = NO_BYTES } = limits;
  return new Promise((resolve, reject) => {
    const inflated = new ByteList();
    inflated.useSegments();
    if (how === "gzip") inflated.expect(lead.length + Math.min(statedSize(bytes), MAX_RATIO * bytes.length, maxBytes));
    if (lead.length > 0) inflated.append(lead);
    const stream = COMPRESSIONS[how]({ chunkSize: CHUNK_BYTES });
    stream.on("data", (chunk: Buffer) => {
      try {
        if (inflated.length - lead.length + chunk.length > maxBytes) throw tooLarge(maxBytes);
        memory.grow(chunk.length);
        inflated.append(chunk);
      } catch (reason) {
        stream.destroy();
        inflated.free();
        reject(reason);
      }
    });
    stream.once("end", () => resolve(inflated.whole()));
    stream.once("error", (cause) => {
      reject(
        invalidArgument(
          `The body is not valid ${how} data, although its headers say so; compress it, or send it without the header.`,
          cause,
        ),
      );
    });
    stream.end(bytes);
  });
}

/**
 * The size that gzip data says it has, in its last four bytes (RFC 1952); 0 if there are none. It may be wrong, and
 * is that of the last part alone if there are several.
 */
function statedSize({ buffer, byteOffset, length }: Uint8Array): number {
  return length < 4 ? 0 : new DataView(buffer, byteOffset + length - 4).getUint32(0, true);
}

function tooLarge(maxBytes: number): ServingError {
  return new ServingError(
    "resource_exhausted",
    `The body is larger than ${maxBytes} bytes once it is inflated; send less, or raise --max-message-bytes.`,
  );
}

const COMPRESSORS = { gzip: createGzip, deflate: createDeflate } as const;
/** Size below which compression makes an answer longer, or saves less than it costs. */
const MIN_BYTES = 256;

/**
 * Compresses the bytes of an answer; undefined for a small one. `count` is called with the number of new bytes as they
 * are created, and throws if there is no room for them.
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
