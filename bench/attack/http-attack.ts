import { request } from "node:http";
import { request as requestEncrypted } from "node:https";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectEncrypted } from "node:tls";
import type { Target } from "./attack-row.ts";

/** An HTTP request of a hostile client. */
export interface HttpMessage {
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** The address that it comes from. Default: that of all attacks. */
  readonly localAddress?: string;
}

/** The server that is attacked is ours. */
export const ANY_CERTIFICATE = { rejectUnauthorized: false } as const;

/** The status of an answer, or what broke, and the beginning of its body. */
export interface Answered {
  readonly status: string;
  readonly start: string;
}

/** Characters of a body that are kept: more than any error has. */
const START = 4000;

/** Sends a request on a connection of its own; resolves with its answer. */
export function ask(
  { http }: Target,
  { path, body, headers = {}, method = "POST", ...from }: HttpMessage,
): Promise<Answered> {
  return new Promise((resolve) => {
    const all = { "content-type": "application/json", "content-length": body.length, ...headers };
    const send = http.startsWith("https:") ? requestEncrypted : request;
    const options = { method, agent: false, headers: all, ...from, ...ANY_CERTIFICATE } as const;
    let start = "";
    const broke = (reason: unknown) => resolve({ status: codeOf(reason), start });
    const call = send(`${http}${path}`, options, (response) => {
      response.on("data", (bytes: Buffer) => {
        if (start.length < START) start += bytes.toString("latin1", 0, START);
      });
      response.on("end", () => resolve({ status: String(response.statusCode), start }));
      response.on("error", broke);
    });
    call.on("error", broke);
    call.end(body);
  });
}

/** {@link ask} for the status alone. */
export async function post(target: Target, message: HttpMessage): Promise<string> {
  return (await ask(target, message)).status;
}

/** Sends a request and goes away as soon as its last byte has left. */
export function postAndLeave(target: Target, { path, body, headers = {} }: HttpMessage): Promise<string> {
  return new Promise((resolve) => {
    const socket = openSocket(target.http);
    socket.on("error", (reason) => resolve(codeOf(reason)));
    socket.write(headOf(path, body.length, headers));
    socket.write(body, () => {
      // An encrypted connection cannot be reset.
      if (target.http.startsWith("https:")) socket.destroy();
      else socket.resetAndDestroy();
      resolve("left");
    });
  });
}

/** A connection to the port of a URL or of a `host:port`; it is encrypted where the URL says so. */
export function openSocket(address: string): Socket {
  const { protocol, hostname: host, port: text } = new URL(address.includes("://") ? address : `http://${address}`);
  const port = Number(text);
  if (protocol !== "https:" && protocol !== "grpcs:") return connect(port, host);
  return connectEncrypted({
    host,
    port,
    ALPNProtocols: [protocol === "grpcs:" ? "h2" : "http/1.1"],
    ...ANY_CERTIFICATE,
  });
}

/** A request's head. */
export function headOf(path: string, length: number, headers: Readonly<Record<string, string>> = {}): string {
  const all = { host: "127.0.0.1", "content-type": "application/json", "content-length": String(length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** The code of a system error, or its text. */
export function codeOf(reason: unknown): string {
  const { code, message } = reason as { code?: string; message: string };
  return code ?? message;
}

/** Sends bytes on a connection of their own; resolves with the status of the first answer, `closed` or `no answer`. */
export async function firstStatus(address: string, head: string): Promise<string> {
  const socket = openSocket(address);
  const status = new Promise<string>((resolve) => {
    socket.once("data", (chunk) => resolve(chunk.toString("latin1", 9, 12)));
    socket.on("error", () => {}).once("close", () => resolve("closed"));
  });
  socket.write(head);
  const got = await Promise.race([status, wait(3000, "no answer")]);
  socket.destroy();
  return got;
}
