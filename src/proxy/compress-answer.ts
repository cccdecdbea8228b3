import type { IncomingMessage } from "node:http";
import { compress } from "../limits/compress.ts";
import { type Compression, isCompression } from "../limits/inflate.ts";
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

/** Compresses an answer, unless it is small. Throws `unavailable` where memory is short. */
export async function compressAnswer(
  answer: HttpAnswer,
  compression: Compression,
  exchange: HttpExchange,
): Promise<HttpAnswer> {
  const { body, rest = [], ...head } = answer;
  let bytes = answerBytes(answer);
  const pieces = await compress([body, ...rest], compression, (made) => {
    bytes += made;
    // In addition to the uncompressed answer, until that is discarded.
    exchange.holdAnswer(bytes);
  });
  if (pieces === undefined) return answer;
  const [first = new Uint8Array(0), ...others] = pieces;
  const compressed = { ...head, body: first, rest: others, contentEncoding: compression };
  exchange.holdAnswer(answerBytes(compressed));
  return compressed;
}
