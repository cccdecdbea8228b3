import type { IncomingMessage } from "node:http";
import { ServingError } from "../errors.ts";
import { COMPRESSIONS, type Compression, inflate, isCompression } from "../platform/limits/compression.ts";
import { ByteList } from "../platform/limits/memory/byte-list.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { MessageArrival } from "../platform/limits/memory/message-arrival.ts";
import { goOnTogether } from "../platform/limits/work-turns.ts";
import { carrierSocketOf } from "../platform/net/node-members.ts";
import { HttpError } from "./http-errors.ts";
import { StreamSocket } from "./stream-socket.ts";

/** Limits of bodies. */
export interface BodyLimits {
  /** Maximum size, compressed or not, in bytes. */
  readonly maxBytes: number;
  /** Count of the body's bytes. */
  readonly memory: MemoryShare;
  /** Index of numbers that should be aligned in memory. */
  readonly alignedAt?: number;
}

/**
 * Reads the whole body of a request, inflated if it is compressed. More than `maxBytes`, compressed or not, is refused
 * with 413: by Content-Length before reading, else as soon as the limit is passed. A body that does not fit into the
 * memory is refused as `unavailable`.
 */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { "content-encoding": encoding } = request.headers;
  return encoding === undefined ? collect(request, limits) : readEncoded(request, encoding, limits);
}

async function readEncoded(request: IncomingMessage, encoding: string, limits: BodyLimits): Promise<Buffer> {
  const compression = parseCompression(encoding.trim().toLowerCase());
  const body = await collect(request, limits);
  return compression === undefined ? body : inflateBody(body, compression, limits);
}

function parseCompression(encoding: string): Compression | undefined {
  if (encoding === "" || encoding === "identity") return undefined;
  const name = encoding === "x-gzip" ? "gzip" : encoding;
  if (isCompression(name)) return name;
  const known = Object.keys(COMPRESSIONS).join(", ");
  throw new HttpError(415, `Content-Encoding "${encoding}" is not supported; send ${known}, or no encoding.`);
}

function collect(request: IncomingMessage, { maxBytes, memory, alignedAt = 0 }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const length = Number(request.headers["content-length"] ?? 0);
    if (length > maxBytes) throw tooLarge(maxBytes);
    memory.checkAnnounced(length);
    const body = new ByteList();
    body.expect(length, alignedAt);
    body.useSegments();
    const add = (chunk: Buffer) => {
      try {
        if (body.length + chunk.length > maxBytes) throw tooLarge(maxBytes);
        arrival.add(chunk.length);
        body.append(chunk);
      } catch (reason) {
        fail(reason);
      }
    };
    const fail = (reason: unknown) => {
      request.off("data", add);
      arrival.done();
      body.free();
      reject(reason);
    };
    const arrival = new MessageArrival(memory, (error) => fail(toTimeout(error)));
    arrival.announce(length);
    // Once a body that counts as unread is answered, Node removes all its listeners, which costs more than this.
    request.read(0);
    request.on("data", add);
    request.on("end", () => {
      arrival.done();
      const joined = body.whole();
      if (joined instanceof Promise) {
        resolve(joined.then(toBuffer));
        return;
      }
      const whole = toBuffer(joined);
      const connection = carrierSocketOf(StreamSocket.connectionOf(request.socket));
      goOnTogether(whole.length, connection, () => resolve(whole));
    });
    request.on("error", (cause) => {
      fail(new ServingError("cancelled", "The client closed the connection before its body was complete.", { cause }));
    });
  });
}

async function inflateBody(body: Buffer, compression: Compression, limits: BodyLimits): Promise<Buffer> {
  try {
    const inflated = await inflate(body, compression, limits);
    limits.memory.shrink(body.length);
    return toBuffer(inflated);
  } catch (reason) {
    throw ServingError.from(reason).code === "resource_exhausted" ? tooLarge(limits.maxBytes) : reason;
  }
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(
    413,
    `The body is larger than ${maxBytes} bytes, the most that this request may have; send less.`,
  );
}

/** HTTP has its own status for a body that comes too slowly. */
function toTimeout(error: ServingError): Error {
  return error.code === "deadline_exceeded" ? new HttpError(408, error.message) : error;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
