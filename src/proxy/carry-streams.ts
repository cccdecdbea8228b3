import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { RequestHead } from "../http2/message-head.ts";
import type { ServerSession, ServerStream } from "../http2/server-session.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestObserver } from "../observability/request-observer.ts";
import { RequestRecord } from "../observability/request-record.ts";
import { turnClientOf } from "../platform/limits/open-connections.ts";
import { WorkTurns } from "../platform/limits/work-turns.ts";
import { carrierSocketOf } from "../platform/net/node-members.ts";
import type { OpenExchanges } from "./open-exchanges.ts";
import { StreamSocket } from "./stream-socket.ts";

/** Answers a request of an HTTP/2 connection. */
export type AnswerStream = (stream: ServerStream, head: RequestHead) => void;

/**
 * Has a server of HTTP/1.1 answer requests of HTTP/2, each as if it came over its own connection, in turns with all
 * other work. To be called before other listeners for connections are added: those count connections, and these
 * requests have one that was counted.
 */
export function carryStreams(server: Server, exchanges: OpenExchanges): AnswerStream {
  const [accept] = server.listeners("connection") as ((socket: Socket) => void)[];
  const turns = new WeakMap<ServerSession, WorkTurns>();
  const turnsOf = (session: ServerSession) => {
    const known = turns.get(session) ?? new WorkTurns(turnClientOf(carrierSocketOf(session.socket)));
    turns.set(session, known);
    return known;
  };
  const begin = (stream: ServerStream, head: RequestHead) => {
    const carrier = new StreamSocket(stream, head);
    const socket = carrier as unknown as Socket;
    exchanges.connect(socket);
    accept?.call(server, socket);
    carrier.begin();
  };
  // A request may cost much more than its frames; of many that come and go together few are begun.
  return (stream, head) => turnsOf(stream.session).take(() => !stream.closed && begin(stream, head));
}

/** Facts about a server for clients that use its HTTP port for gRPC. */
export interface MeantGrpc {
  /** Absent = there is none. */
  readonly grpcPort?: number | undefined;
  readonly log: Logger;
}

/** The content types of gRPC's calls. */
const GRPC = /^application\/grpc(?:[+;]|$)/;
/** UNIMPLEMENTED. */
const STATUS = 12;

/** Refuses calls of gRPC, in its form, and has other requests answered; the log has the first call. */
export function refuseCalls(
  answer: AnswerStream,
  observer: RequestObserver,
  { grpcPort, log }: MeantGrpc,
): AnswerStream {
  const where = grpcPort === undefined ? "gRPC is not served" : `gRPC is served on port ${grpcPort}`;
  let hasWarned = false;
  return (stream, head) => {
    const { "content-type": type = "", ":path": path = "" } = head.byName;
    if (!GRPC.test(type)) {
      answer(stream, head);
      return;
    }
    if (!hasWarned) log.warn(`a client of the HTTP port speaks gRPC: ${where}`);
    hasWarned = true;
    const record = new RequestRecord(head.byName);
    const isObserved = observer.begin(record, stream.session.socket.remoteAddress);
    const status = { "grpc-status": STATUS, "grpc-message": `This port serves HTTP: ${where}.` };
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...status }, true);
    stream.resume();
    if (isObserved) observer.over(record, { protocol: "grpc", path, status: STATUS, code: "unimplemented" });
  };
}
