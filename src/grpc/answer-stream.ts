import type { ServerHttp2Stream } from "node:http2";
import { ServingError } from "../errors.ts";
import type { RequestRecord, RouteName } from "../observability/request-record.ts";
import type { MemberList } from "../platform/async/member-list.ts";
import type { CallContext } from "./call-context.ts";
import { httpRefusal, type ReceivedHeaders } from "./call-headers.ts";
import { openRecord, tellOver } from "./call-record.ts";
import type { GrpcCall } from "./grpc-call.ts";
import type { StreamRoute, UnaryRoute } from "./grpc-route.ts";
import { PacedConnection } from "./paced-connection.ts";
import type { CallPasser } from "./pass-on.ts";
import { watchResets } from "./reset-watch.ts";
import { StreamCall } from "./stream-call.ts";
import { UnaryCall } from "./unary-call.ts";

/** A route, and its name for metrics. */
export interface NamedRoute {
  readonly route: UnaryRoute | StreamRoute;
  readonly name: RouteName;
}

/** Parts of a server that answer its streams. */
export interface Answering {
  /** By path. A record would take longer: V8 has to find each path in the table of all names. */
  readonly routes: ReadonlyMap<string, NamedRoute>;
  readonly context: CallContext;
  readonly openCalls: MemberList<GrpcCall>;
  /** Passes on what another thread answers: all but single requests to models. */
  readonly passer: CallPasser | undefined;
}

/** The answer to other requests of HTTP/2 than calls. */
const NO_CALL =
  "This port serves gRPC: its calls are POST with content-type application/grpc. HTTP is served on --http-port, as HTTP/1.1.\n";

interface Arrived {
  readonly received: ReceivedHeaders;
  readonly record: RequestRecord;
  /** True once the call itself handles its end. */
  isRun: boolean;
}

/** Answers a new stream, now or, where this turn of the event loop has no time left, in a later one. */
export function answerStream(stream: ServerHttp2Stream, received: ReceivedHeaders, answering: Answering): void {
  const { byName: headers } = received;
  // A broken stream also closes, which ends its call.
  stream.on("error", ignore);
  watchResets(stream);
  const { passer } = answering;
  if (passer !== undefined && !isSingleRequest(headers[":path"], answering)) {
    PacedConnection.of(stream.session)?.begin(stream, () => passer.pass(stream, headers));
    return;
  }
  const { observer } = answering.context;
  const record = openRecord(stream, headers, observer);
  record.route = answering.routes.get(headers[":path"] ?? "")?.name;
  const arrived: Arrived = { received, record, isRun: false };
  PacedConnection.of(stream.session)?.begin(stream, () => begin(stream, arrived, answering));
  if (arrived.isRun) return;
  stream.on("close", () => {
    if (!arrived.isRun) tellOver(stream, headers, { record, observer });
  });
}

function isSingleRequest(path: string | undefined, { routes }: Answering): boolean {
  const { route } = routes.get(path ?? "") ?? {};
  return route !== undefined && "method" in route && route.kind === "inference";
}

function begin(stream: ServerHttp2Stream, arrived: Arrived, answering: Answering): void {
  const { received, record } = arrived;
  const { byName: headers } = received;
  const status = httpRefusal(headers);
  if (status !== undefined) {
    stream.respond({ ":status": status, "content-type": "text/plain; charset=utf-8" });
    stream.end(NO_CALL);
    stream.resume();
    return;
  }
  arrived.isRun = true;
  const call = openCall(stream, headers[":path"] ?? "", answering);
  const { openCalls } = answering;
  openCalls.add(call);
  void call.run(received, record, () => openCalls.delete(call));
}

function openCall(stream: ServerHttp2Stream, path: string, { routes, context }: Answering): GrpcCall {
  const { route } = routes.get(path) ?? {};
  if (route === undefined)
    return new StreamCall(stream, context, { kind: "inference", stream: () => refuseMethod(path) });
  return "stream" in route ? new StreamCall(stream, context, route) : new UnaryCall(stream, context, route);
}

async function refuseMethod(path: string): Promise<never> {
  throw new ServingError("unimplemented", `The server does not implement the method ${path}`);
}

function ignore(): void {}
