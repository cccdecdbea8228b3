import { writeSync } from "node:fs";
import type { Http2Session } from "node:http2";

/** A GOAWAY frame without an error whose last stream is the greatest possible: all streams are taken (RFC 9113 §6.8). */
const FRAME = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 255, 255, 255, 0, 0, 0, 0]);

/** A TCP connection's handle in Node. */
interface TcpHandle {
  readonly fd?: number;
  /** Bytes that the system has not taken yet. */
  readonly writeQueueSize?: number;
}

/**
 * Tells a client that the connection is about to close and that its calls are still answered, those included that are on their way.
 * Returns false where that cannot be told: the connection is encrypted, or has unsent bytes.
 *
 * Written past Node: after its own `session.goaway()` it would ignore further streams, and it aborts the process when bytes that are not
 * its own have been written to a session's socket.
 */
export function sendRetirement(session: Http2Session): boolean {
  const { _handle: handle } = session.socket as { readonly _handle?: TcpHandle };
  const { fd = -1, writeQueueSize } = handle ?? {};
  if (session.encrypted !== false || fd < 0 || writeQueueSize !== 0) return false;
  try {
    // The system takes so few bytes as a whole, or none.
    return writeSync(fd, FRAME) === FRAME.length;
  } catch {
    return false;
  }
}
