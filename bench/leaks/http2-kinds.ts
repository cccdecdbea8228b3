import type { ClientHttp2Session } from "node:http2";
import { openSession } from "../attack/grpc-attack.ts";
import { codeOf, type HttpMessage } from "../attack/http-attack.ts";
import { JSON_TYPE, json, type LeakKind, type LeakServer, MOST_LARGE } from "./leak-kind.ts";

const PREDICT = { path: "/v1/models/default:predict", body: json({ instances: [1, 2.5] }) };
const TOO_LARGE = { ...PREDICT, body: Buffer.alloc(2_000_000, 32) };

/** HTTP's requests over HTTP/2: good and bad ones, such that are reset, and connections of one each. */
export function http2Kinds(): LeakKind[] {
  return [
    over2("http2-v1", "200", PREDICT),
    over2("http2-json-broken", "400", { ...PREDICT, body: Buffer.from('{"instances":[1, 2.5') }),
    { ...kind("http2-too-large", "413", (server) => askAlone(server, TOO_LARGE)), maxCount: MOST_LARGE },
    over2("http2-metrics", "200", { path: "/metrics", method: "GET", body: Buffer.alloc(0) }),
    kind("http2-left", "reset", ({ web }) => reset(web, PREDICT)),
    kind("http2-half-sent", "reset", ({ web }) => reset(web, { ...PREDICT, body: PREDICT.body.subarray(0, 9) })),
    kind("connection-http2", "200", (server) => askAlone(server, PREDICT)),
  ];
}

/** The address of HTTP as {@link openSession} takes it. */
export function webTarget({ http, pid }: Pick<LeakServer, "http" | "pid">) {
  return { grpc: http.replace("https:", "grpcs:").replace("http://", ""), http, pid };
}

function kind(name: string, expected: string, send: LeakKind["send"]): LeakKind {
  return { name, expected, form: "plain", send };
}

function over2(name: string, expected: string, message: HttpMessage): LeakKind {
  return kind(name, expected, ({ web }) => ask(web, message));
}

/** On a connection of its own: bytes that the server did not take count against that, at the client, while it lives. */
async function askAlone(server: LeakServer, message: HttpMessage): Promise<string> {
  const session = await openSession(webTarget(server));
  const status = await ask(session, message);
  session.destroy();
  return status;
}

function open(session: ClientHttp2Session, { path, method = "POST", body }: HttpMessage) {
  const head = { ":method": method, ":path": path, ...JSON_TYPE, "content-length": String(body.length) };
  return session.request(head, { endStream: body.length === 0 });
}

/** The status may come before the body has left, whose stream is closed then. */
function ask(session: ClientHttp2Session, message: HttpMessage): Promise<string> {
  return new Promise((resolve) => {
    const stream = open(session, message);
    let status: string | undefined;
    stream.on("response", (headers) => {
      status = String(headers[":status"]);
    });
    stream.on("error", (reason) => {
      status ??= codeOf(reason);
    });
    stream.on("close", () => resolve(status ?? `reset ${stream.rstCode}`));
    stream.resume();
    if (message.body.length > 0) stream.end(message.body);
  });
}

/** Resets a request whose body has left, without its end. */
function reset(session: ClientHttp2Session, message: HttpMessage): Promise<string> {
  return new Promise((resolve) => {
    const stream = open(session, { ...message, body: PREDICT.body });
    stream.on("error", () => {}).once("close", () => resolve("reset"));
    stream.resume().write(message.body, () => setImmediate(() => stream.close(8)));
  });
}
