import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { onTestFinished } from "vitest";

type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** An answer over HTTP/2. */
export interface Http2Answer {
  readonly status: number | undefined;
  readonly headers: Head;
  readonly body: Buffer;
  /** Statuses of interim answers. */
  readonly interims: readonly number[];
}

/** A connection of Node's client, which speaks HTTP/2 from its first bytes on; it ends with its test. */
export function connectHttp2(url: string, options: SecureClientSessionOptions = {}): ClientHttp2Session {
  const session = connect(url, options);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  return session;
}

/** The answer to a request; rejects if its stream is reset. */
export async function ask(
  session: ClientHttp2Session,
  path: string,
  headers: OutgoingHttpHeaders = {},
  body?: string | Uint8Array,
): Promise<Http2Answer> {
  const method = body === undefined ? "GET" : "POST";
  const stream = session.request({ ":path": path, ":method": method, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

/** The answer that comes on a stream; rejects if that is reset. */
export async function answerOf(stream: ClientHttp2Stream): Promise<Http2Answer> {
  const interims: number[] = [];
  stream.on("headers", (head: Head) => interims.push(Number(head[":status"])));
  const [headers] = (await once(stream, "response")) as [Head];
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  await once(stream, "end");
  return { status: headers[":status"], headers, body: Buffer.concat(pieces), interims };
}
