import { writeSync } from "node:fs";
import type { Http2Session } from "node:http2";
import { idleDescriptorOf } from "../net/node-members.ts";

/**
 * A GOAWAY frame without an error whose last stream is the greatest possible: all streams are taken (RFC 9113 §6.8).
 */
const FRAME = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 255, 255, 255, 0, 0, 0, 0]);

/**
 * Tells a client that the connection is about to close and that its calls are still answered, those included that are
 * on their way. Returns false where that cannot be told: the connection is encrypted, or has unsent bytes.
 *
 * Written past Node: after its own `session.goaway()` it would ignore further streams, and it aborts the process when
 * bytes that are not its own have been written to a session's socket.
 */
export function sendRetirement(session: Http2Session): boolean {
  const descriptor = session.encrypted === false ? idleDescriptorOf(session.socket) : undefined;
  if (descriptor === undefined) return false;
  try {
    // The system takes so few bytes as a whole, or none.
    return writeSync(descriptor, FRAME) === FRAME.length;
  } catch {
    return false;
  }
}
