import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { Agent, request } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { ServingError } from "../../src/errors.ts";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import { HANDSHAKE_TIMEOUT_MS } from "../../src/platform/limits/transport-limits.ts";
import type { Server } from "../../src/server/server.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import type { GrpcRoute, HttpRoute } from "./message-route.ts";

const TLS = { ca: tlsFile("ca.pem"), servername: "localhost" };
/**
 * Time in which an answer has to come, and a connection to end of which the client is
 * done: more than the server gives a handshake.
 */
const WITHIN_MS = 1.5 * HANDSHAKE_TIMEOUT_MS;
/** Statuses that say that the server failed: UNKNOWN, INTERNAL, DATA_LOSS of gRPC. */
const FAILURES = { grpc: [2, 13, 15], http: [500] } as const;

/** Places below a message at which a client's bytes are read. */
export type Layer = "http/1.1" | "h2" | "tls";

/** A client of a server's encrypted ports that sends any bytes. */
export class TlsClient {
  readonly #server: Server;
  readonly #agent = new Agent({ ...TLS, keepAlive: true, maxSockets: 1 });
  #session: ClientHttp2Session | undefined;

  constructor(server: Server) {
    this.#server = server;
  }

  /**
   * Calls a method; rejects with a ServingError where the server refuses the message,
   * with another error where it fails.
   */
  async call({ method, isFramed = false }: GrpcRoute, message: Buffer): Promise<void> {
    const headers = { ":method": "POST", ":path": method, "content-type": "application/grpc", te: "trailers" };
    const stream = this.#open().request(headers);
    const received: IncomingHttpHeaders = {};
    const note = (headers: IncomingHttpHeaders) => void Object.assign(received, headers);
    stream.on("response", note).on("trailers", note);
    stream.setTimeout(WITHIN_MS, () => stream.destroy(new Error("no answer")));
    stream.resume().end(isFramed ? message : Buffer.concat(frameBytes(message)));
    await once(stream, "close");
    const { "grpc-status": status, "grpc-message": why = "" } = received;
    if (status === undefined) throw new Error("the stream closed without a status");
    assertTaken("grpc", Number(status), String(why));
  }

  /** Sends a request; rejects as {@link call} does. */
  async post({ path, headers = {} }: HttpRoute, body: Buffer): Promise<void> {
    const options = { method: "POST", agent: this.#agent, headers, timeout: WITHIN_MS };
    const sent = request(`${this.#server.httpUrl}${path}`, options);
    sent.on("timeout", () => sent.destroy(new Error("no answer")));
    sent.end(body);
    const [response] = await once(sent, "response");
    assertTaken("http", response.statusCode, await text(response));
  }

  /**
   * Sends bytes on a connection of their own and ends it; resolves with what came back
   * once the server has ended it too.
   */
  async write(layer: Layer, bytes: Buffer): Promise<Buffer> {
    const received: Buffer[] = [];
    const socket = this.#connect(layer);
    // A server may end a connection whenever it likes.
    socket.on("error", () => {}).on("data", (chunk) => received.push(chunk));
    const late = setTimeout(() => socket.destroy(new Error("late")), WITHIN_MS);
    socket.end(bytes);
    await new Promise((resolve) => socket.once("close", resolve));
    clearTimeout(late);
    if (socket.errored?.message === "late") throw new Error("the connection stays open");
    return Buffer.concat(received);
  }

  close(): void {
    this.#agent.destroy();
    this.#session?.destroy();
  }

  #open(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = connectHttp2(`https://${this.#server.grpcAddress}`, TLS).on("error", () => {});
    }
    return this.#session;
  }

  #connect(layer: Layer): Socket {
    const address = layer === "h2" ? `https://${this.#server.grpcAddress}` : (this.#server.httpUrl as string);
    const { hostname: host, port: written } = new URL(address);
    const port = Number(written);
    return layer === "tls" ? connectPlain(port, host) : connect({ ...TLS, host, port, ALPNProtocols: [layer] });
  }
}

function assertTaken(wire: keyof typeof FAILURES, status: number, answer: string): void {
  const said = `${wire} ${status} ${answer}`;
  if ((FAILURES[wire] as readonly number[]).includes(status)) throw new Error(`the server failed: ${said}`);
  if (wire === "grpc" ? status !== 0 : status >= 300) throw new ServingError("invalid_argument", said);
}
