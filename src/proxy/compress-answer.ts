import { compress } from "../limits/compress.ts";
import { isCompression } from "../limits/inflate.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpAnswer } from "./http-route.ts";
import { answerBytes } from "./send-answer.ts";

/**
 * Compresses an answer for a client that accepts exactly one of gzip and deflate, as those do that want it. One that lists
 * several does so for every server, and gets what is fastest: no compression. Throws `unavailable` where memory is short.
 */
export async function compressAnswer(answer: HttpAnswer, exchange: HttpExchange): Promise<HttpAnswer> {
  const accepted = exchange.request.headers["accept-encoding"];
  const name = accepted?.trim().toLowerCase() ?? "";
  if (!isCompression(name)) return answer;
  const { body, rest = [], ...head } = answer;
  let bytes = answerBytes(answer);
  const pieces = await compress([body, ...rest], name, (made) => {
    bytes += made;
    // Beside what it is made of, until that is done with.
    exchange.holdAnswer(bytes);
  });
  if (pieces === undefined) return answer;
  const [first = new Uint8Array(0), ...others] = pieces;
  return { ...head, body: first, rest: others, contentEncoding: name };
}
