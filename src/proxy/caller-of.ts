import type { IncomingMessage } from "node:http";
import type { Caller } from "../access/caller.ts";

/** The origin of an HTTP request, as the request states it. */
export function callerOf({ socket, headers, httpVersion }: IncomingMessage): Caller {
  const { remoteAddress: address = "" } = socket;
  return { address, host: headers.host, headers, connection: socket, isHttp10: httpVersion === "1.0" };
}
