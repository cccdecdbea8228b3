import type { Socket } from "node:net";
import type { CallScope } from "../access/call-scope.ts";
import type { Caller, CallKind } from "../access/caller.ts";
import { ServingError } from "../errors.ts";
import { ClientSession } from "../http2/client-session.ts";
import type { SentHeaders } from "../http2/hpack-encoder.ts";
import type { RequestHead } from "../http2/message-head.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerSession, ServerStream } from "../http2/server-session.ts";
import type { DataReceiver, Keeper, SessionStream } from "../http2/session-stream.ts";
import type { RouteName } from "../observability/request-record.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { WINDOWS } from "../platform/limits/transport-limits.ts";
import { createRecord } from "../tensor/record.ts";
import type { CallContext } from "./call-context.ts";
import { ANSWERED_THERE, openRecord, tellOver } from "./call-record.ts";
import { toGrpcStatus } from "./grpc-status.ts";
import { callerOf } from "./peer.ts";
import type { SendGuard } from "./send-watch.ts";

/** Bytes of a call that wait to be passed on, in each direction, before no more are read; a piece costs some itself. */
const MAX_WAITING_BYTES = 64 * 1024;
const PIECE_BYTES = 256;
const LOST = new ServingError("unavailable", "The server ends.");

/** The route of a call, as far as it is known here. */
interface PassedRoute {
  readonly route: { readonly kind: CallKind };
  readonly name: RouteName;
}

/**
 * Passes calls on as they are to where another thread of this server answers them,
 * over a connection for each of the clients'.
 */
export class CallPasser {
  readonly #connect: (client: Socket) => Socket;
  readonly #context: CallContext;
  readonly #sessions = new WeakMap<ServerSession, ClientSession>();

  constructor(connect: (client: Socket) => Socket, context: CallContext) {
    this.#connect = connect;
    this.#context = context;
  }

  /** Passes a call on, and its answer back. */
  pass(stream: ServerStream, { raw, byName }: RequestHead, named?: PassedRoute): void {
    const { memory, sends, accountKey, observer } = this.#context;
    const record = openRecord(stream, byName, observer);
    record.route = named?.name;
    // The other thread reports those that it has begun.
    const refused = () => stream.once("close", () => tellOver(stream, byName, { record, observer }));
    const session = this.#sessionOf(stream, refused);
    if (session === undefined) return;
    const inner = session.request(toHeaders(raw), (answer, isAll) => stream.respond(toHeaders(answer), isAll));
    const caller = callerOf(stream.session, byName);
    const share = memory.open(0, accountKey(caller));
    this.#findUser(named?.route.kind ?? "inference", caller, (user) => {
      record.user = user;
      share.belongTo(accountKey({ ...caller, user }));
    });
    new PassedCall({ stream, inner }, { memory: share, guard: sends.guard(stream), refused }).begin();
  }

  /** Calls back with the name of a call's user if there is one; the other thread refuses who may not call. */
  #findUser(kind: CallKind, caller: Caller, found: (user: string) => void): void {
    const tell = (scope: CallScope | undefined) => scope !== undefined && found(scope.user);
    try {
      const entered = this.#context.policy.enter(kind, caller);
      if (entered instanceof Promise) entered.then(tell, () => {});
      else tell(entered);
    } catch {
      // It counts by its address.
    }
  }

  /**
   * One that may not begin calls any more is replaced; those that it has go on. A call for which there is no room is
   * refused.
   */
  #sessionOf(stream: ServerStream, refused: () => void): ClientSession | undefined {
    const { session: client } = stream;
    const known = this.#sessions.get(client);
    if (known !== undefined && !known.closed) return known;
    try {
      const made = new ClientSession(this.#connect(client.socket), WINDOWS);
      client.once("close", () => made.close());
      this.#sessions.set(client, made);
      return made;
    } catch (reason) {
      refused();
      stream.respond(toAnswer(reason), true);
      stream.resume();
      return undefined;
    }
  }
}

/** The client's stream, and that to the other thread. */
interface BothStreams {
  readonly stream: ServerStream;
  readonly inner: SessionStream;
}

/** Those that count a call, and are told of its end. */
interface PassedParts {
  readonly memory: MemoryShare;
  readonly guard: SendGuard;
  /** Is told that the call is answered here, with an error, and not reported by the other thread. */
  readonly refused: () => void;
}

/** A call on its way: what it holds of both directions counts, and its client must take the answer. */
class PassedCall implements Keeper {
  readonly #stream: ServerStream;
  readonly #inner: SessionStream;
  readonly #memory: MemoryShare;
  readonly #guard: SendGuard;
  readonly #refused: () => void;
  /** Bytes given to both streams that have not been taken there. */
  #writtenBytes = 0;
  #isOver = false;
  /** True after something of the client's was passed on that has had no answer yet. */
  #isAsked = false;

  constructor({ stream, inner }: BothStreams, { memory, guard, refused }: PassedParts) {
    this.#stream = stream;
    this.#inner = inner;
    this.#memory = memory;
    this.#guard = guard;
    this.#refused = refused;
    memory.sending = guard;
  }

  begin(): void {
    const [stream, inner] = [this.#stream, this.#inner];
    stream.keeper = inner.keeper = this;
    stream.receiveInto(this.#passData(stream, inner));
    inner.receiveInto(this.#passData(inner, stream, this.#guard));
    stream.once("aborted", () => this.#leave());
    stream.once("close", () => {
      this.#leave();
      this.#guard.stop();
      this.#memory.release();
    });
    inner.once("aborted", () => this.#fail(LOST, inner.rstCode));
  }

  /** As far as it shows here: the other thread has the whole request or a message, and has not answered that. */
  get isWorking(): boolean {
    return this.#isAsked || (this.#stream.isRemoteEnded && !this.#stream.headersSent);
  }

  giveUp(error: ServingError): void {
    this.#fail(error, ERROR.cancel);
  }

  kept(): void {
    this.#count();
  }

  /** Passes data on, and the trailers at its end, no faster than it is taken. */
  #passData(from: SessionStream, to: SessionStream, guard?: SendGuard): DataReceiver {
    let waitingBytes = 0;
    const wait = (bytes: number) => {
      waitingBytes += bytes;
      this.#writtenBytes += bytes;
    };
    return {
      take: (bytes, start, end) => {
        const length = end - start;
        wait(PIECE_BYTES + length);
        if (!this.#count()) return;
        this.#isAsked = guard === undefined;
        guard?.add(length);
        if (waitingBytes > MAX_WAITING_BYTES) from.pause();
        to.write(Buffer.from(bytes.subarray(start, end)), () => {
          wait(-PIECE_BYTES - length);
          guard?.take(length);
          this.#count();
          if (waitingBytes <= MAX_WAITING_BYTES) from.resume();
        });
      },
      end: () => to.end(undefined, from.trailers && toHeaders(from.trailers)),
    };
  }

  /** Counts the bytes that are held now; false if the call is over. */
  #count(): boolean {
    if (this.#isOver) return false;
    try {
      this.#memory.setTo(this.#writtenBytes + this.#stream.readableLength + this.#inner.readableLength);
    } catch (reason) {
      this.#fail(reason, ERROR.enhanceYourCalm);
    }
    return !this.#isOver;
  }

  /** Answers the call with an error; resets it with a code if its answer has begun. */
  #fail(reason: unknown, rstCode: number): void {
    if (this.#isOver) return;
    if (this.#stream.headersSent) this.#stream.reset(rstCode);
    else {
      if (!this.#inner.aborted || rstCode === ERROR.refusedStream) this.#refused();
      this.#stream.respond(toAnswer(reason), true);
    }
    this.#leave(ANSWERED_THERE);
  }

  /** Ends the call in the other thread; what its client still sends is discarded. */
  #leave(code: number = ERROR.cancel): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#inner.reset(code);
    this.#stream.resume();
  }
}

function toAnswer(reason: unknown): SentHeaders {
  const { code, details } = toGrpcStatus(reason);
  const headers = { ":status": 200, "content-type": "application/grpc" };
  return { ...headers, "grpc-status": code, "grpc-message": encodeURI(details) };
}

/** Several values of a name become one array. */
function toHeaders(raw: readonly string[]): SentHeaders {
  const headers = createRecord<string | string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const [name, value] = [raw[at] as string, raw[at + 1] as string];
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}
