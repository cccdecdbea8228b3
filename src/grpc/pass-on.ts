import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR } = constants;
/** UNAVAILABLE. */
const LOST = {
  ":status": 200,
  "content-type": "application/grpc",
  "grpc-status": 14,
  "grpc-message": "The server ends.",
};
const AUTHORITY = "http://localhost";

/**
 * Passes calls on as they are to where another thread of this server answers them,
 * over a connection for each of the clients'.
 */
export class CallPasser {
  readonly #connect: (client: Socket) => Socket;
  readonly #sessions = new WeakMap<Http2Session, ClientHttp2Session>();

  constructor(connect: (client: Socket) => Socket) {
    this.#connect = connect;
  }

  /** Passes a call on, and its answer back. */
  pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const { session } = stream;
    if (session === undefined || session.destroyed || stream.destroyed) return;
    const inner = this.#begin(session, headers);
    if (inner === undefined) {
      stream.respond(LOST, { endStream: true });
      return;
    }
    stream.pipe(inner);
    passBack(inner, stream);
    stream.on("close", () => {
      if (!inner.closed) inner.close(stream.rstCode === NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : stream.rstCode);
    });
  }

  /** Undefined if this server ends. */
  #begin(client: Http2Session, headers: IncomingHttpHeaders): ClientHttp2Stream | undefined {
    try {
      return this.#sessionOf(client).request({ ...headers }, { endStream: false });
    } catch {
      return undefined;
    }
  }

  /** One that may not begin calls any more is replaced; those that it has go on. */
  #sessionOf(client: Http2Session): ClientHttp2Session {
    const known = this.#sessions.get(client);
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const made = connectHttp2(AUTHORITY, { createConnection: () => this.#connect(client.socket) });
    made.on("error", () => {});
    client.once("close", () => made.close());
    this.#sessions.set(client, made);
    return made;
  }
}

/** The answer, its trailers, and how it ends. */
function passBack(inner: ClientHttp2Stream, stream: ServerHttp2Stream): void {
  let trailers: IncomingHttpHeaders | undefined;
  const isOpen = () => !stream.destroyed && !stream.closed;
  inner.on("response", (headers, flags) => {
    if (!isOpen()) return;
    const endStream = (flags & NGHTTP2_FLAG_END_STREAM) !== 0;
    stream.respond({ ...headers }, { endStream, waitForTrailers: !endStream });
    if (!endStream) inner.pipe(stream);
  });
  inner.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("wantTrailers", () => {
    if (isOpen()) stream.sendTrailers({ ...trailers });
  });
  inner.on("error", () => {});
  inner.on("close", () => {
    if (!isOpen()) return;
    if (!stream.headersSent) stream.respond(LOST, { endStream: true });
    else if (inner.rstCode !== NGHTTP2_NO_ERROR) stream.close(inner.rstCode);
  });
}
