import type { CallKind } from "../access/caller.ts";
import { ServingError } from "../errors.ts";
import { cutStream } from "../http2/connection-watch.ts";
import type { RequestHead } from "../http2/message-head.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerStream } from "../http2/server-session.ts";
import type { RequestRecord, RouteName } from "../observability/request-record.ts";
import type { MemberList } from "../platform/async/member-list.ts";
import type { Compression } from "../platform/limits/compression.ts";
import { StreamTurns } from "../platform/limits/stream-turns.ts";
import type { CallContext } from "./call-context.ts";
import { httpRefusal } from "./call-headers.ts";
import { openRecord, tellOver } from "./call-record.ts";
import { type FramedMessage, framedBytes } from "./framed-message.ts";
import { GrpcCall } from "./grpc-call.ts";
import type { CallInfo, StreamExchange, StreamRoute, UnaryRoute } from "./grpc-route.ts";
import { type CallEncoding, compressMessage } from "./message-encoding.ts";
import { MessageStream } from "./message-stream.ts";
import type { CallPasser } from "./pass-on.ts";
import { SliceWriter } from "./slice-writer.ts";
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
  /** Answers requests that are no calls; absent = they are refused. */
  readonly answerOther: ((stream: ServerStream, head: RequestHead) => void) | undefined;
}

/** The answer to other requests of HTTP/2 than calls. */
const NO_CALL = Buffer.from(
  "This port serves gRPC: its calls are POST with content-type application/grpc. HTTP is served on --http-port.\n",
);

/** Answers a new stream. */
export function answerStream(stream: ServerStream, head: RequestHead, answering: Answering): void {
  const { byName: headers } = head;
  const path = headers[":path"] ?? "";
  const { passer, routes, context, openCalls, answerOther } = answering;
  const status = httpRefusal(headers);
  if (status !== undefined && answerOther !== undefined) {
    answerOther(stream, head);
    return;
  }
  const named = routes.get(path);
  if (passer !== undefined && !isSingleRequest(named)) {
    passer.pass(stream, head, named);
    return;
  }
  const { observer } = context;
  const record = openRecord(stream, headers, observer);
  record.route = named?.name;
  if (status !== undefined) {
    stream.once("close", () => tellOver(stream, headers, { record, observer }));
    refuse(stream, status);
    return;
  }
  const call = openCall(stream, path, answering);
  openCalls.add(call);
  void call.run(head, record, () => openCalls.delete(call));
}

function isSingleRequest({ route }: Partial<NamedRoute> = {}): boolean {
  return route !== undefined && "method" in route && route.kind === "inference";
}

function refuse(stream: ServerStream, status: number): void {
  const date = new Date().toUTCString();
  stream.respond({ ":status": status, "content-type": "text/plain; charset=utf-8", date });
  stream.end(NO_CALL);
  stream.resume();
}

function openCall(stream: ServerStream, path: string, { routes, context }: Answering): GrpcCall {
  const { route } = routes.get(path) ?? {};
  if (route === undefined)
    return new StreamCall(stream, context, { kind: "inference", stream: () => refuseMethod(path) });
  return "stream" in route ? new StreamCall(stream, context, route) : new UnaryCall(stream, context, route);
}

async function refuseMethod(path: string): Promise<never> {
  throw new ServingError("unimplemented", `The server does not implement the method ${path}`);
}

function ignore(): void {}

/** Rejects a method's wait for messages after its call. */
const STREAM_OVER = new ServingError("cancelled", "The call is over.");

/** A call with any number of messages in both directions. */
class StreamCall extends GrpcCall {
  protected readonly kind: CallKind;
  readonly #route: StreamRoute;
  readonly #writer: SliceWriter;
  /** Settles once the messages before have been sent: their slices must not mix. Never rejects. */
  #lastWrite: Promise<void> = Promise.resolve();
  #record: RequestRecord | undefined;
  #encoding: CallEncoding = { request: undefined, response: undefined };
  #exchange: StreamExchange | undefined;
  #messages: MessageStream | undefined;
  /** Resolves once a call that was left has ended; undefined = it was not, or has. */
  #leaving: Promise<void> | undefined;

  constructor(stream: ServerStream, context: CallContext, route: StreamRoute) {
    super(stream, context);
    this.kind = route.kind;
    this.#route = route;
    this.#writer = new SliceWriter(stream, this.guard);
  }

  get isWorking(): boolean {
    return this.#exchange?.isWorking === true && !this.guard.isClientsTurn;
  }

  protected answer(info: CallInfo, encoding: CallEncoding): Promise<void> {
    this.#encoding = encoding;
    this.#record = info.record;
    const { maxMessageBytes, messageTimeoutMs, clock } = this.context;
    const { maxBytes = maxMessageBytes } = this.#route;
    const end = (error: ServingError) => this.giveUp(error);
    const limits = { maxBytes, memory: this.memory, messageTimeoutMs, clock, end, compression: encoding.request };
    const messages = new MessageStream(this.stream, limits);
    this.#messages = messages;
    const fail = (reason: unknown) => messages.fail(reason);
    this.source.addEventListener("abort", () => fail(this.source.reason));
    const write = (message: FramedMessage) => this.#write(message);
    const cut = () => {
      if (!this.stream.closed) cutStream(this.stream, ERROR.cancel);
    };
    const { path } = this;
    this.#exchange = { path, messages: this.paced(messages), fail, write, cut, isWorking: false, ...info };
    return this.#route.stream(this.#exchange);
  }

  protected override settled(): void {
    this.#messages?.fail(STREAM_OVER);
  }

  /** A thousand may be left at once, whose answers each have much to end. */
  protected override endLeft(abort: () => void): void {
    const turn = StreamTurns.end(this.memory.client.number);
    if (turn === undefined) abort();
    else this.#leaving = turn.then(abort);
  }

  /** Messages are sent in the order of the calls, however long the compression of each takes. */
  #write(message: FramedMessage): Promise<void> {
    const { response } = this.#encoding;
    const written = this.#lastWrite.then(() =>
      response === undefined ? this.#send(message) : this.#sendCompressed(message, response),
    );
    this.#lastWrite = written.catch(ignore);
    return written;
  }

  async #sendCompressed(message: FramedMessage, compression: Compression): Promise<void> {
    if (this.isOver) return this.#leaving;
    const memory = this.memory.split(0);
    try {
      await this.#send(await compressMessage(message, compression, memory));
    } finally {
      memory.release();
    }
  }

  async #send(message: FramedMessage): Promise<void> {
    if (!this.isOver) {
      if (!this.stream.headersSent) this.startAnswer({}, this.#encoding);
      this.#record?.wrote(framedBytes(message));
      await this.#writer.write(message);
    }
    // Nothing more is asked for until then.
    if (this.#leaving !== undefined) await this.#leaving;
  }

  protected override finish(): void {
    if (this.isOver) return;
    if (!this.stream.headersSent) this.startAnswer({}, this.#encoding);
    this.markEnded();
    this.stream.end(undefined, this.trailers);
  }
}
