import type { Socket } from "node:net";
import type { Logger } from "../observability/logger.ts";
import { discardInTurns } from "../platform/net/open-in-turns.ts";

/** The beginning of a request line of HTTP/1. */
const REQUEST_LINE = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT) /;
/** The first byte of TLS: a handshake record. */
const TLS_HANDSHAKE = 0x16;
/** Time that a client has to read the answer and to close, in milliseconds. */
const LINGER_MS = 500;

/** Facts about a server for clients that use its gRPC port with another protocol. */
export interface Meant {
  /** Port of HTTP; undefined = there is none. */
  readonly findHttpPort: () => number | undefined;
  readonly log: Logger;
}

/**
 * Ends connections of the gRPC port that do not begin as HTTP/2 does. An HTTP/1 client gets an answer with the right
 * port; the log gets one line with the received protocol and the remedy.
 */
export function refuseHttp1({ findHttpPort, log }: Meant): (socket: Socket) => void {
  let hasWarned = false;
  const warnOnce = (text: string) => {
    if (!hasWarned) log.warn(text);
    hasWarned = true;
  };
  return (socket) => {
    socket.on("error", ignore);
    const first: Buffer = socket.read() ?? Buffer.alloc(0);
    if (isHttp1(first)) {
      const where = placeOfHttp(findHttpPort());
      warnOnce(`a client of the gRPC port speaks HTTP/1, as curl and browsers do: ${where}`);
      answerHttp1(socket, "505 HTTP Version Not Supported", `This port serves gRPC, which is HTTP/2: ${where}.`);
      return;
    }
    if (first[0] === TLS_HANDSHAKE)
      warnOnce(
        "a client of the gRPC port begins TLS, which this server does not speak without --tls-cert and --tls-key",
      );
    socket.destroy();
  };
}

function placeOfHttp(port: number | undefined): string {
  if (port !== undefined) return `HTTP is served on port ${port}`;
  return "HTTP is not served; --http-enable at the start of the server serves it, on --http-port or on this one";
}

/** True for a connection whose first bytes begin a request of HTTP/1. */
export function isHttp1(first: Buffer): boolean {
  return REQUEST_LINE.test(first.toString("latin1", 0, 32));
}

/** Answers a client that speaks HTTP/1 where that is not spoken (505: RFC 9110 §15.6.6), and closes the connection. */
export function answerHttp1(socket: Socket, status: string, error: string): void {
  const body = `${JSON.stringify({ error })}\n`;
  const head = [`HTTP/1.1 ${status}`, "Content-Type: application/json"];
  socket.end([...head, `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close", "", body].join("\r\n"));
  // An earlier close would make the client lose the answer.
  discardInTurns(socket);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}

function ignore(): void {}
