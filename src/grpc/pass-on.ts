import type { Socket } from "node:net";
import { ClientSession } from "../http2/client-session.ts";
import type { SentHeaders } from "../http2/hpack-encoder.ts";
import type { RequestHead } from "../http2/message-head.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerSession, ServerStream } from "../http2/server-session.ts";
import type { DataReceiver, SessionStream } from "../http2/session-stream.ts";
import { WINDOWS } from "../platform/limits/transport-limits.ts";
import { createRecord } from "../tensor/record.ts";

/** Bytes of a call that wait to be passed on, in each direction, before no more are read; a piece costs some itself. */
const MAX_WAITING_BYTES = 64 * 1024;
const PIECE_BYTES = 256;
/** UNAVAILABLE. */
const LOST = {
  ":status": 200,
  "content-type": "application/grpc",
  "grpc-status": 14,
  "grpc-message": "The server ends.",
};

/**
 * Passes calls on as they are to where another thread of this server answers them,
 * over a connection for each of the clients'.
 */
export class CallPasser {
  readonly #connect: (client: Socket) => Socket;
  readonly #sessions = new WeakMap<ServerSession, ClientSession>();

  constructor(connect: (client: Socket) => Socket) {
    this.#connect = connect;
  }

  /** Passes a call on, and its answer back. */
  pass(stream: ServerStream, { raw }: RequestHead): void {
    const inner = this.#sessionOf(stream.session).request(toHeaders(raw), (answer, isAll) =>
      stream.respond(toHeaders(answer), isAll),
    );
    stream.receiveInto(passData(stream, inner));
    inner.receiveInto(passData(inner, stream));
    stream.once("close", () => inner.reset(stream.rstCode === ERROR.none ? ERROR.cancel : stream.rstCode));
    inner.once("aborted", () => {
      if (stream.headersSent) stream.reset(inner.rstCode);
      else stream.respond(LOST, true);
    });
  }

  /** One that may not begin calls any more is replaced; those that it has go on. */
  #sessionOf(client: ServerSession): ClientSession {
    const known = this.#sessions.get(client);
    if (known !== undefined && !known.closed) return known;
    const made = new ClientSession(this.#connect(client.socket), WINDOWS);
    client.once("close", () => made.close());
    this.#sessions.set(client, made);
    return made;
  }
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

/** Passes data on, and the trailers at its end, no faster than it is taken. */
function passData(from: SessionStream, to: SessionStream): DataReceiver {
  let waitingBytes = 0;
  return {
    take(bytes, start, end) {
      const price = PIECE_BYTES + end - start;
      waitingBytes += price;
      if (waitingBytes > MAX_WAITING_BYTES) from.pause();
      to.write(Buffer.from(bytes.subarray(start, end)), () => {
        waitingBytes -= price;
        if (waitingBytes <= MAX_WAITING_BYTES) from.resume();
      });
    },
    end: () => to.end(undefined, from.trailers && toHeaders(from.trailers)),
  };
}
