import type { IncomingMessage } from "node:http";
import type { Caller } from "../access/caller.ts";
import { StreamSocket } from "./stream-socket.ts";

/** The origin of an HTTP request, as the request states it. */
export function callerOf({ socket, headers, httpVersion }: IncomingMessage): Caller {
  const { remoteAddress: address = "" } = socket;
  const connection = StreamSocket.connectionOf(socket);
  return { address, host: headers.host, headers, connection, isHttp10: httpVersion === "1.0" };
}
