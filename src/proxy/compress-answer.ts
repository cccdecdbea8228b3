import { createDeflate, createGzip } from "node:zlib";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpAnswer } from "./http-route.ts";
import { answerBytes } from "./send-answer.ts";

const COMPRESSIONS = { gzip: createGzip, deflate: createDeflate } as const;
/** Below, compression makes a body longer, or saves less than its header. */
const MIN_BYTES = 256;
/** Pieces in which the compressed bytes come; larger than zlib's own for fewer turns. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Compresses an answer for a client that accepts exactly one of gzip and deflate, as those do that want it. One that lists
 * several does so for every server, and gets what is fastest: no compression. Throws `unavailable` where memory is short.
 */
export async function compressAnswer(answer: HttpAnswer, exchange: HttpExchange): Promise<HttpAnswer> {
  const accepted = exchange.request.headers["accept-encoding"];
  const name = accepted?.trim().toLowerCase() as keyof typeof COMPRESSIONS | undefined;
  if (name === undefined || !Object.hasOwn(COMPRESSIONS, name)) return answer;
  const bytes = answerBytes(answer);
  if (bytes < MIN_BYTES) return answer;
  const { body, rest = [], ...head } = answer;
  const stream = COMPRESSIONS[name]({ chunkSize: CHUNK_BYTES });
  const pieces: Uint8Array[] = [];
  let made = 0;
  const compressing = (async () => {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece);
      made += piece.length;
      // Beside what it is made of, until that is done with.
      exchange.holdAnswer(bytes + made);
    }
  })();
  for (const piece of [body, ...rest]) stream.write(piece);
  stream.end();
  await compressing;
  const [first = new Uint8Array(0), ...others] = pieces;
  return { ...head, body: first, rest: others, contentEncoding: name };
}
