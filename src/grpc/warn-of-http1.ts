import type { Http2Server } from "node:http2";
import type { Logger } from "../observability/logger.ts";

/** Node's error for a connection that does not begin as HTTP/2 does. */
const NO_PREFACE = "bad client magic";

/** Logs, once for a server, that a client speaks HTTP/1 to the gRPC port: it cannot be told itself, since the server has to speak first. */
export function warnOfHttp1(server: Http2Server, log: Logger): void {
  let hasWarned = false;
  server.on("sessionError", (error: Error) => {
    if (hasWarned || !error.message.includes(NO_PREFACE)) return;
    hasWarned = true;
    log.warn(
      "a client of the gRPC port speaks HTTP/1, as curl and browsers do; HTTP has a port of its own (--http-enable, --http-port), or shares this one where both have the same number",
    );
  });
}
