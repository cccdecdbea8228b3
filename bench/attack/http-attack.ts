import { request } from "node:http";
import { connect } from "node:net";
import type { Target } from "./attack-row.ts";

/** An HTTP request of a hostile client. */
export interface HttpMessage {
  readonly path: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

/** Sends a request on a connection of its own and throws its answer away; resolves to its status, or to what broke. */
export function post({ http }: Target, { path, body, headers = {}, method = "POST" }: HttpMessage): Promise<string> {
  return new Promise((resolve) => {
    const all = { "content-type": "application/json", "content-length": body.length, ...headers };
    const call = request(`${http}${path}`, { method, agent: false, headers: all }, (response) => {
      response.on("end", () => resolve(String(response.statusCode)));
      response.on("error", (reason) => resolve(codeOf(reason)));
      response.resume();
    });
    call.on("error", (reason) => resolve(codeOf(reason)));
    call.end(body);
  });
}

/** Sends a request and goes away as soon as its last byte has left. */
export function postAndLeave(target: Target, { path, body, headers = {} }: HttpMessage): Promise<string> {
  return new Promise((resolve) => {
    const socket = openSocket(target.http);
    socket.on("error", (reason) => resolve(codeOf(reason)));
    socket.write(headOf(path, body.length, headers));
    socket.write(body, () => {
      socket.resetAndDestroy();
      resolve("left");
    });
  });
}

/** A connection to the HTTP port, or to the port of a `host:port`. */
export function openSocket(address: string) {
  const { hostname, port } = new URL(address.includes("://") ? address : `http://${address}`);
  return connect(Number(port), hostname);
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
