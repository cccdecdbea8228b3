import type { ServerHttp2Session } from "node:http2";
import type { ConnectionRules } from "./connection-rules.ts";

/** Random share by which the maximum ages of connections differ, as in gRPC. */
const JITTER = 0.1;

type AgeRules = Pick<ConnectionRules, "maxAgeMs" | "maxAgeGraceMs" | "maxIdleMs">;

/**
 * Ends a connection that is too old, once its calls have ended or their grace period has, and one that had no calls for
 * too long.
 */
export function limitAge(session: ServerHttp2Session, { maxAgeMs, maxAgeGraceMs, maxIdleMs }: AgeRules): void {
  if (maxAgeMs !== undefined) {
    const ageMs = maxAgeMs * (1 + JITTER * (2 * Math.random() - 1));
    endAfter(session, ageMs, () => {
      session.close();
      if (maxAgeGraceMs !== undefined) endAfter(session, maxAgeGraceMs, () => session.destroy());
    });
  }
  if (maxIdleMs !== undefined) limitIdleness(session, maxIdleMs);
}

function limitIdleness(session: ServerHttp2Session, maxIdleMs: number): void {
  let calls = 0;
  let stop = endAfter(session, maxIdleMs, () => session.close());
  session.on("stream", (stream) => {
    calls++;
    stop();
    stream.once("close", () => {
      if (--calls === 0) stop = endAfter(session, maxIdleMs, () => session.close());
    });
  });
}

/** Calls back after a time, unless the connection closes or the returned function is called before. */
function endAfter(session: ServerHttp2Session, ms: number, end: () => void): () => void {
  if (session.destroyed) return () => {};
  const timer = setTimeout(end, ms).unref();
  const stop = () => {
    clearTimeout(timer);
    session.off("close", stop);
  };
  session.once("close", stop);
  return stop;
}
