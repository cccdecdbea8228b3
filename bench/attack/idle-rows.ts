import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { openSession, openStream } from "./grpc-attack.ts";
import { codeOf, openSocket, post } from "./http-attack.ts";

const COUNT = 10_000;
/** Connections that are opened at a time. */
const AT_A_TIME = 200;
/** Connections that leave at a time: more would be an attack of their own. */
const LEAVE_AT_A_TIME = 40;
const HOLD_MS = 2000;
const OPENING = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from("000000040000000000", "hex"),
  Buffer.from("000000040100000000", "hex"),
]);
const GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";
/** Header values that are clients of their own. */
const KEYS = 20_000;

/** Connections and clients without number that do next to nothing. */
export const IDLE_ROWS: readonly AttackRow[] = [
  { name: "idle-http", server: "null", isPlain: true, prepare: () => (target) => idle(target.http, GET) },
  { name: "idle-grpc", server: "null", isPlain: true, prepare: () => (target) => idle(target.grpc, OPENING) },
  { name: "idle-shared", server: "shared", isPlain: true, prepare: () => (target) => idle(target.http, GET) },
  {
    name: "idle-beyond-limit",
    server: "few-connections",
    isPlain: true,
    prepare: () => (target) => idle(target.http, GET, 2000),
  },
  { name: "clients-without-number", server: "client-limits", isPlain: true, prepare: () => manyClients },
  { name: "idle-watchers", server: "null", isPlain: true, prepare: () => unreadWatchers },
];

/** Opens connections that get an answer and are kept. */
async function idle(address: string, opening: string | Buffer, count = COUNT): Promise<AttackResult> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: AT_A_TIME }, () => openSocket(address));
    sockets.push(...some);
    await Promise.all(some.map((socket) => answered(socket, opening)));
  }
  await wait(HOLD_MS);
  const got = tally(sockets.map(({ destroyed }) => (destroyed ? "reset" : "open")));
  for (const [index, socket] of sockets.entries()) {
    socket.destroy();
    if (index % LEAVE_AT_A_TIME === 0) await wait(10);
  }
  return { got };
}

/** Resolves once something has come, or the connection has gone. */
function answered(socket: Socket, opening: string | Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => {}).once("close", () => resolve());
    socket.once("data", () => resolve());
    socket.write(opening);
  });
}

const WATCHING = { sessions: 100, streams: 100 } as const;
const WATCH = "/grpc.health.v1.Health/Watch";

/** Streams of statuses that are not read, on connections that take nothing. */
async function unreadWatchers(target: Target): Promise<AttackResult> {
  const statuses: string[] = [];
  const sessions = await Promise.all(Array.from({ length: WATCHING.sessions }, () => openSession(target, 0)));
  for (const session of sessions) {
    const some = Array.from({ length: WATCHING.streams }, () => {
      const stream = openStream(session, { path: WATCH });
      stream.end(Buffer.alloc(5));
      return new Promise<string>((resolve) => {
        stream.on("response", (headers) => resolve(`grpc ${headers["grpc-status"] ?? "open"}`));
        stream.on("error", (reason) => resolve(codeOf(reason)));
      });
    });
    statuses.push(...(await Promise.all(some)));
  }
  await wait(HOLD_MS);
  for (const session of sessions) session.destroy();
  return { got: tally(statuses) };
}

async function manyClients(target: Target): Promise<AttackResult> {
  const statuses = new Set<string>();
  const body = Buffer.from('{"instances":[1]}');
  for (let key = 0; key < KEYS; key += 100) {
    const some = Array.from({ length: 100 }, (_, index) => {
      const headers = { "x-api-key": `${key + index}`.repeat(100) };
      return post(target, { path: "/v1/models/default:predict", body, headers });
    });
    for (const status of await Promise.all(some)) statuses.add(status);
  }
  return { got: [...statuses].join(", ") };
}
