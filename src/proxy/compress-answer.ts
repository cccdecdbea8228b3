import { promisify } from "node:util";
import { deflate, gzip } from "node:zlib";
import type { HttpAnswer } from "./http-route.ts";

const COMPRESSIONS = { gzip: promisify(gzip), deflate: promisify(deflate) } as const;
/** Below, compression makes a body longer, or saves less than its header. */
const MIN_BYTES = 256;

/**
 * Compresses an answer for a client that accepts exactly one of gzip and deflate, as those do that want it. One that lists
 * several does so for every server, and gets what is fastest: no compression.
 */
export async function compressAnswer(answer: HttpAnswer, accepted: string | undefined): Promise<HttpAnswer> {
  const name = accepted?.trim().toLowerCase() as keyof typeof COMPRESSIONS | undefined;
  if (name === undefined || !Object.hasOwn(COMPRESSIONS, name)) return answer;
  const { rest = [], ...head } = answer;
  const body = rest.length === 0 ? answer.body : Buffer.concat([answer.body, ...rest]);
  if (body.length < MIN_BYTES) return answer;
  return { ...head, body: await COMPRESSIONS[name](body), contentEncoding: name };
}
