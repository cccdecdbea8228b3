import { type Agent, request } from "node:http";
import type { ClientHttp2Session } from "node:http2";
import { request as requestEncrypted } from "node:https";
import { callOn, type GrpcMessage, openStream } from "../attack/grpc-attack.ts";
import { ANY_CERTIFICATE, codeOf, type HttpMessage, headOf, openSocket } from "../attack/http-attack.ts";
import { bytesField, varintField } from "../attack/protobuf.ts";

/** Servers that are asked: of hooks, of each driver, over TLS, with several listeners, of one model. */
export const SERVER_FORMS = ["plain", "drivers", "encrypted", "listeners", "single"] as const;
export type ServerForm = (typeof SERVER_FORMS)[number];

/** One kind of request. */
export interface LeakKind {
  readonly name: string;
  /** Its outcome; another one is an error of the run. */
  readonly expected: string;
  readonly form: ServerForm;
  /** For one that costs too much to be sent as often as others. */
  readonly maxCount?: number;
  /** The model that it needs, which may not be there for want of a runtime. */
  readonly model?: string;
  send(server: LeakServer): Promise<string>;
}

/** The server that is asked, with a connection of each wire. */
export interface LeakServer {
  readonly grpc: string;
  readonly http: string;
  readonly pid: number;
  readonly agent: Agent;
  /** The same as long as it lives. */
  readonly session: ClientHttp2Session;
  /** The same to HTTP's port. */
  readonly web: ClientHttp2Session;
  /** Opens other sessions in place of those that the server has ended. */
  renew(): Promise<void>;
}

export const JSON_TYPE = { "content-type": "application/json" };
/** Most requests of more than a message may have, which cost as much as a thousand others. */
export const MOST_LARGE = 800;
/** Bytes of a body whose rest does not come, where one is sent in part. */
const ANNOUNCED_BYTES = 29;

/** A value as JSON. */
export function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** A request of V2 with texts. */
export function texts(...data: readonly string[]): Buffer {
  return json({ inputs: [{ name: "x", shape: [data.length], datatype: "BYTES", data }] });
}

/** A V2 request of two numbers, of a text, or of one whole number. */
export function inferMessage(model: string, value?: string | number): Buffer {
  const [type, size, content] =
    value === undefined
      ? ["FP32", 2, Buffer.alloc(8)]
      : typeof value === "number"
        ? ["INT32", 1, Buffer.from(Int32Array.of(value).buffer)]
        : ["BYTES", 1, Buffer.concat([Buffer.from(Int32Array.of(value.length).buffer), Buffer.from(value)])];
  const tensor = [bytesField(1, "x"), bytesField(2, String(type)), varintField(3, Number(size))];
  return Buffer.concat([bytesField(1, model), bytesField(5, ...tensor), bytesField(7, content as Buffer)]);
}

/** A kind of HTTP request. */
export function http(name: string, expected: string, message: HttpMessage): LeakKind {
  return { name, expected, form: "plain", send: (server) => ask(server, message) };
}

/** Sends a request on a connection that is kept; resolves with its status. */
export function ask(
  { http: base, agent }: LeakServer,
  { path, body, method = "POST", headers = JSON_TYPE }: HttpMessage,
) {
  return new Promise<string>((resolve) => {
    const all = { "content-length": body.length, ...headers };
    const send = base.startsWith("https:") ? requestEncrypted : request;
    const call = send(`${base}${path}`, { method, agent, headers: all, ...ANY_CERTIFICATE }, (answer) => {
      answer.resume().on("end", () => resolve(String(answer.statusCode)));
    });
    call.on("error", (reason) => resolve(codeOf(reason)));
    call.end(body);
  });
}

/** A kind of gRPC call. */
export function grpc(name: string, status: number, message: GrpcMessage): LeakKind {
  return { name, expected: `grpc ${status}`, form: "plain", send: ({ session }) => callOn(session, message) };
}

/** Goes away once the request has left. */
export function leave({ http: address }: LeakServer, path: string, body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = openSocket(address);
    socket.on("error", () => {}).once("close", () => resolve("left"));
    socket.write(headOf(path, Math.max(ANNOUNCED_BYTES, body.length)));
    // An encrypted connection cannot be reset.
    const end = () => (address.startsWith("https:") ? socket.destroy() : socket.resetAndDestroy());
    socket.write(body, () => setImmediate(end));
  });
}

/** Cancels a call once its message has left. */
export function cancel(session: ClientHttp2Session, { path, message }: GrpcMessage): Promise<string> {
  return new Promise((resolve) => {
    const stream = openStream(session, { path });
    stream.on("error", () => {}).once("close", () => resolve("cancelled"));
    stream.resume();
    const prefix = Buffer.from([0, 0, 0, 0, message.length]);
    stream.write(Buffer.concat([prefix, message]), () => setImmediate(() => stream.close(8)));
  });
}
