import type { IncomingMessage } from "node:http";
import { type Compression, compress, compressStream, isCompression } from "../limits/compression.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpAnswer } from "./http-route.ts";
import { answerBytes } from "./send-answer.ts";

/**
 * The compression of answers for a client that accepts either gzip or deflate, and so asks for it. A client that lists
 * both does so for every server, and gets the fastest answer: uncompressed, which is undefined.
 */
export function acceptedCompression({ headers }: IncomingMessage): Compression | undefined {
  const { "accept-encoding": accepted } = headers;
  if (accepted === undefined) return undefined;
  const name = accepted.trim().toLowerCase();
  return isCompression(name) ? name : undefined;
}

const NO_BYTES = new Uint8Array(0);

/** Compresses an answer, unless it is small. Throws `unavailable` where memory is short. */
export async function compressAnswer(
  answer: HttpAnswer,
  compression: Compression,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const { body, rest = [], stream, ...head } = answer;
  if (stream !== undefined) {
    const parts = compressStream(joined([body, ...rest], stream.parts), compression);
    return { ...head, body: NO_BYTES, stream: { ...stream, parts }, contentEncoding: compression };
  }
  let bytes = answerBytes(answer);
  const pieces = await compress([body, ...rest], compression, (made) => {
    bytes += made;
    // In addition to the uncompressed answer, until that is discarded.
    exchange.holdAnswer(bytes);
  });
  if (pieces === undefined) return answer;
  const [first = NO_BYTES, ...others] = pieces;
  const compressed = { ...head, body: first, rest: others, contentEncoding: compression };
  exchange.holdAnswer(answerBytes(compressed));
  return compressed;
}

async function* joined(first: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* rest;
}
