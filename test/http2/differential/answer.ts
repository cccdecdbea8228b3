import { createHash } from "node:crypto";
import type { SessionLimits } from "../../../src/http2/session-limits.ts";

/** Limits of both servers: the smallest windows there are, so that clients reach them. */
export const LIMITS: SessionLimits = {
  maxConcurrentStreams: 100,
  streamWindowBytes: 65_535,
  connectionWindowBytes: 65_535,
  maxConnectionWindowBytes: 65_535,
  maxHeaderBytes: 65_535,
  maxHeaders: 128,
};
const MAX_ANSWER_BYTES = 100_000;

/** Headers that say what a server has received: its headers, its trailers' names, and the number of bytes. */
export function answerTo(raw: readonly string[], trailers: readonly string[], bytes: number): Record<string, string> {
  const head = createHash("sha1").update(raw.join("\n"), "latin1").digest("hex").slice(0, 8);
  return { ":status": "200", "x-head": head, "x-bytes": String(bytes), "x-trailers": trailers.toSorted().join(" ") };
}

/** As many bytes again; Node.js leaves out the content of an answer to HEAD. */
export function contentOf(raw: readonly string[], bytes: number): Buffer {
  return Buffer.alloc(raw.includes("HEAD") ? 0 : Math.min(bytes, MAX_ANSWER_BYTES));
}
