import { type CallScope, runInScope } from "../access/call-scope.ts";
import type { Caller, CallKind } from "../access/caller.ts";
import { ServingError } from "../errors.ts";
import type { SentHeaders } from "../http2/hpack-encoder.ts";
import { KeptBytes } from "../http2/kept-bytes.ts";
import type { ReceivedFields, RequestHead } from "../http2/message-head.ts";
import type { ServerSession, ServerStream } from "../http2/server-session.ts";
import type { Keeper } from "../http2/session-stream.ts";
import { logFailure } from "../observability/log-failure.ts";
import { ID_HEADER } from "../observability/request-id.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import { SERVER_TIMING, serverTiming } from "../observability/server-timing.ts";
import { CancelSource } from "../platform/async/cancel-source.ts";
import { ListMember } from "../platform/async/member-list.ts";
import { deadlinePassed, MAX_TIMER_MS } from "../platform/limits/call-limits.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { arrivedCall } from "../serving/inference-service.ts";
import type { CallContext } from "./call-context.ts";
import { readCallHeaders } from "./call-headers.ts";
import { tellOver } from "./call-record.ts";
import type { CallInfo } from "./grpc-route.ts";
import { type GrpcStatus, STATUS_DETAILS, toGrpcStatus } from "./grpc-status.ts";
import { ACCEPTED_ENCODINGS, type CallEncoding, readEncoding } from "./message-encoding.ts";
import { toMetadataHeaders } from "./metadata-headers.ts";
import { callerOf, peerOf } from "./peer.ts";
import type { SendGuard } from "./send-watch.ts";

const RESPONSE_HEADERS = { ":status": 200, "content-type": "application/grpc+proto" } as const;

/** One call on its HTTP/2 stream: its headers, deadline, cancellation, memory and status. */
export abstract class GrpcCall extends ListMember implements Keeper {
  protected readonly stream: ServerStream;
  protected readonly context: CallContext;
  protected readonly memory: MemoryShare;
  protected readonly source = new CancelSource();
  /** Limits the time in which the client must read sent data. */
  protected readonly guard: SendGuard;
  /** The kind of its route, which decides who may call it. */
  protected abstract readonly kind: CallKind;
  protected path = "";
  /** True while memory is reserved for an answer, until the stream closes. */
  protected holdsAnswer = false;
  readonly #session: ServerSession;
  #headers: ReceivedFields = {};
  #record: RequestRecord | undefined;
  /** Undefined if callers need no name. */
  #scope: CallScope | undefined;
  #deadline: number | undefined;
  /** The status that follows the last message; undefined = OK. */
  #failure: GrpcStatus | undefined;
  #hasEnded = false;
  #isLeft = false;
  #isClosed = false;
  #kept: KeptBytes | undefined;
  /** Ends what is counted of its client. */
  #leave: (() => void) | undefined;

  constructor(stream: ServerStream, context: CallContext) {
    super();
    this.stream = stream;
    this.#session = stream.session;
    this.context = context;
    this.memory = context.memory.open();
    this.guard = context.sends.guard(stream);
    this.memory.sending = this.guard;
    stream.keeper = this;
  }

  /** Runs the call to its end, of which it notifies the caller; never throws. */
  async run(received: RequestHead, record: RequestRecord, ended: () => void): Promise<void> {
    const headers = received.byName;
    this.#headers = headers;
    this.#record = record;
    this.path = headers[":path"] ?? "";
    record.settleTrace(this.kind === "inference" || this.kind === "control");
    let timer: NodeJS.Timeout | undefined;
    try {
      const { metadata, deadline } = readCallHeaders(received);
      timer = this.#limitTime(deadline);
      const entered = this.context.policy.enter(this.kind, this.#caller);
      const scope = entered instanceof Promise ? await entered : entered;
      // Finding out who calls takes its time.
      if (this.isOver) return;
      this.#scope = scope;
      this.memory.belongTo(this.context.accountKey(this.#caller));
      if (this.kind !== "inference") this.assertMay(this.kind);
      if (this.kind !== "health") {
        const begun = this.context.clients?.enter(this.#caller);
        if (!(begun instanceof Promise)) this.#leave = begun;
        else if (!(await this.#count(begun))) return;
      }
      const encoding = readEncoding(headers);
      const { source: signal, memory } = this;
      const info = arrivedCall(record, peerOf(this.#session).name, { metadata, deadline, signal, memory });
      await (scope === undefined ? this.answer(info, encoding) : this.#answerFor(scope, info, encoding));
      this.finish();
    } catch (reason) {
      logFailure({ reason, code: ServingError.from(reason).code, record, path: this.path }, this.context.log);
      this.fail(reason);
    } finally {
      clearTimeout(timer);
      this.settled();
      if (!this.holdsAnswer || this.#isClosed) this.memory.release();
      ended();
    }
  }

  /** True while it works for its client. */
  abstract readonly isWorking: boolean;

  /** Counts what waits in its stream as its memory; ends the call if there is no room. */
  kept(): void {
    this.#kept ??= new KeptBytes(this.stream, this.memory);
    try {
      this.#kept.count();
    } catch (reason) {
      this.giveUp(ServingError.from(reason));
    }
  }

  /** Ends the call with an error while its method still runs, and aborts its signal. */
  giveUp(error: ServingError, reason?: DOMException | ServingError): void {
    this.fail(error);
    this.source.abort(reason);
  }

  /** Reads the messages and sends the answer. */
  protected abstract answer(info: CallInfo, encoding: CallEncoding): Promise<void>;

  /** Called once that has resolved: not in it, since each function that waits stays for as long as a stream does. */
  protected finish(): void {}

  /** Called once it has settled. */
  protected settled(): void {}

  /** Counts the call of a client whose limits another thread knows; false if it is over meanwhile. */
  async #count(begun: Promise<() => void>): Promise<boolean> {
    const leave = await begun;
    if (this.#isClosed) leave();
    else this.#leave = leave;
    return !this.isOver;
  }

  /** Throws `permission_denied` unless the client may make this kind of call. */
  protected assertMay(kind: CallKind): void {
    this.#scope?.assertKind(kind);
    this.context.policy.check(kind, this.#caller);
  }

  /** The messages of a stream, no faster than its client may send them. */
  protected paced(messages: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const { clients } = this.context;
    return clients === undefined || this.kind === "health" ? messages : clients.pace(this.#caller, messages);
  }

  /** Ends the call once its client may make it no longer; returns how to stop. */
  #watchPermission(scope: CallScope): () => void {
    const end = (reason: ServingError) => this.giveUp(reason, new DOMException(reason.message, "AbortError"));
    return this.context.policy.watch({ kind: this.kind, caller: this.#caller, scope, end });
  }

  get #caller(): Caller {
    const caller = callerOf(this.#session, this.#headers);
    return this.#scope === undefined ? caller : { user: this.#scope.user, ...caller };
  }

  /** True once no more messages can be sent. */
  protected get isOver(): boolean {
    return this.#hasEnded || this.stream.destroyed || this.stream.closed;
  }

  /** Sends the headers of an answer; the status follows the last message. */
  protected startAnswer(metadata: Readonly<Record<string, string>>, { response }: CallEncoding): void {
    this.stream.respond(responseHeaders(metadata, response));
  }

  /** The end of the answer: its status, and what belongs to that. */
  protected get trailers(): SentHeaders {
    return callTrailers(this.#failure, this.#record);
  }

  /** Marks the answer as complete: only its end is still sent. */
  protected markEnded(): void {
    this.#hasEnded = true;
  }

  /** Ends the call with an error's status, unless it has ended. */
  protected fail(reason: unknown): void {
    if (this.isOver) return;
    this.#hasEnded = true;
    this.#failure = toGrpcStatus(reason);
    this.guard.restart();
    if (this.stream.headersSent) this.stream.end(undefined, this.trailers);
    else this.#refuse();
    // Later data from the client is discarded.
    this.stream.resume();
  }

  /** Answers the call without its password, which hooks and models must not see. */
  async #answerFor(scope: CallScope, info: CallInfo, encoding: CallEncoding): Promise<void> {
    info.record.user = scope.user;
    delete (info.metadata as Record<string, string>).authorization;
    const stop = this.#watchPermission(scope);
    try {
      await runInScope(scope, () => this.answer(info, encoding));
    } finally {
      stop();
    }
  }

  #refuse(): void {
    // A client with an unknown encoding is sent the list of known ones.
    const accepted = { "grpc-accept-encoding": ACCEPTED_ENCODINGS };
    this.stream.respond({ ...RESPONSE_HEADERS, ...accepted, ...this.trailers }, true);
  }

  /** Ends what the call has begun, as soon as there is time for it. */
  protected endLeft(abort: () => void): void {
    abort();
  }

  /** The client left before the answer. */
  aborted(): void {
    if (this.#hasEnded || this.#isLeft) return;
    this.#isLeft = true;
    const reason = abortReason(this.#deadline);
    this.endLeft(() => this.source.abort(reason));
  }

  /** Releases the answer's memory, which may have waited in the socket until now. */
  closed(): void {
    this.#isClosed = true;
    this.#leave?.();
    this.guard.stop();
    if (this.holdsAnswer) this.memory.release();
    this.aborted();
    const record = this.#record;
    if (record !== undefined) tellOver(this.stream, this.#headers, { record, observer: this.context.observer });
  }

  /** Ends the call when its deadline passes. */
  #limitTime(deadline: number | undefined): NodeJS.Timeout | undefined {
    this.#deadline = deadline;
    if (deadline === undefined || deadline - Date.now() > MAX_TIMER_MS) return undefined;
    const late = () => this.giveUp(new ServingError("deadline_exceeded", "Deadline exceeded"), abortReason(deadline));
    return setTimeout(late, deadline - Date.now());
  }
}

function responseHeaders(metadata: Readonly<Record<string, string>>, encoding: string | undefined) {
  const base = encoding === undefined ? RESPONSE_HEADERS : { ...RESPONSE_HEADERS, "grpc-encoding": encoding };
  for (const _ in metadata) return { ...base, ...toMetadataHeaders(metadata) };
  return base;
}

/**
 * Maximum time by which a cancellation may arrive before its call's deadline, in milliseconds: the call took longer to
 * arrive, or a timer fired early.
 */
const SLACK_MS = 20;
/** One for all calls: a stack trace, which says nothing here, took a seventh of the time of each call that is reset. */
const CANCELLED = new DOMException("The client cancelled the request.", "AbortError");

/** The reason for ending a call whose client left: a client may also cancel because the deadline passed. */
function abortReason(deadline: number | undefined): DOMException {
  const isLate = deadline !== undefined && Date.now() >= deadline - SLACK_MS;
  return isLate ? deadlinePassed() : CANCELLED;
}

/**
 * Trailer by which a server tells clients that repeat calls when to do so
 * (https://github.com/grpc/proposal/blob/master/A6-client-retries.md).
 */
const RETRY_PUSHBACK = "grpc-retry-pushback-ms";
const OK_TRAILERS = { "grpc-status": "0" };

/**
 * The trailers of a call that ends with a failure, or without one, and the times of
 * its request if these are asked for.
 */
function callTrailers(failure: GrpcStatus | undefined, record: RequestRecord | undefined): SentHeaders {
  const status = failure === undefined ? OK_TRAILERS : failureTrailers(failure, record);
  const timing = record && serverTiming(record);
  return timing === undefined ? status : { ...status, [SERVER_TIMING]: timing };
}

function failureTrailers(failure: GrpcStatus, record: RequestRecord | undefined): SentHeaders {
  const { code, details, statusDetails, retryDelayMs, challenge } = failure;
  const id = record?.sendableId;
  return {
    "grpc-status": code,
    "grpc-message": encodeURI(details),
    ...challenge,
    ...(statusDetails !== undefined && { [STATUS_DETAILS]: statusDetails }),
    ...(id !== undefined && { [ID_HEADER]: id }),
    ...(retryDelayMs !== undefined && { [RETRY_PUSHBACK]: Math.ceil(retryDelayMs) }),
  };
}
