import { createHash } from "node:crypto";
import type { ServerSession } from "../../../src/http2/server-session.ts";
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
  const names = [...new Set(trailers)].toSorted().join(" ");
  return { ":status": "200", "x-head": head, "x-bytes": String(bytes), "x-trailers": names };
}

/** As many bytes again; Node.js leaves out the content of an answer to HEAD. */
export function contentOf(raw: readonly string[], bytes: number): Buffer {
  return Buffer.alloc(raw.includes("HEAD") ? 0 : Math.min(bytes, MAX_ANSWER_BYTES));
}

/** Answers the requests of one of our connections. */
export function answerRequests(session: ServerSession): void {
  session.on("stream", (stream, { raw }) => {
    let bytes = 0;
    const take = (_: Buffer, start: number, end: number) => {
      bytes += end - start;
    };
    const answer = () => {
      const trailers = (stream.trailers ?? []).filter((_, at) => at % 2 === 0);
      stream.respond(answerTo(raw, trailers, bytes));
      stream.end(contentOf(raw, bytes));
    };
    stream.receiveInto({ take, end: answer });
  });
}
