import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectNet, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { TRANSPORT_LIMITS } from "../../src/platform/limits/transport-limits.ts";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { frame, METHODS, openSession, openStream } from "./grpc-attack.ts";
import { codeOf, openSocket, post } from "./http-attack.ts";
import { bytesField } from "./protobuf.ts";
import { flagOf } from "./server-arguments.ts";

const COUNT = 10_000;
/** Connections that are opened at a time. */
const AT_A_TIME = 200;
/** Connections that leave at a time: more would be an attack of their own. */
const LEAVE_AT_A_TIME = 40;
/** More connections than a server with few descriptors can have. */
const BEYOND_DESCRIPTORS = 1500;
const HOLD_MS = 2000;
const OPENING = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from("000000040000000000", "hex"),
  Buffer.from("000000040100000000", "hex"),
]);
const GET = "GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n";
/** Header values that are clients of their own. */
const KEYS = 20_000;
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

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
  ...["admin", "metrics"].map(
    (port): AttackRow => ({
      name: `descriptors-${port}`,
      server: "few-descriptors",
      isPlain: true,
      prepare: () => (target) => fillSidePort(`http://127.0.0.1:${flagOf(target, `--${port}-port`)}`),
    }),
  ),
  { name: "clients-without-number", server: "client-limits", isPlain: true, prepare: () => manyClients },
  { name: "idle-watchers", server: "null", isPlain: true, prepare: () => unreadWatchers },
  {
    name: "busy-beyond-limit",
    server: "few-connections",
    isPlain: true,
    // Newcomers are refused until the server has looked twice at what moves: some seconds, in which a tiny request is
    // sent again every few milliseconds.
    maxWaitMs: 3000,
    mayLose: 2000,
    prepare: () => busyBeyondLimit,
  },
  ...([METHODS.stream, REFLECTION] as const).map(
    (path): AttackRow => ({
      name: `${path === REFLECTION ? "reflection" : "v2stream"}-empty-messages`,
      server: "null",
      prepare: () => (target) => emptyMessages(target, path),
    }),
  ),
];

/** Others keep the descriptors only where the port's own limit holds: it ends idle connections. */
async function fillSidePort(address: string): Promise<AttackResult> {
  const { got, open } = await idle(address, GET, BEYOND_DESCRIPTORS);
  const most = TRANSPORT_LIMITS.sideConnections;
  return open <= most ? { got } : { got, problem: `the port has more than ${most} connections` };
}

/** Opens connections that get an answer and are kept. */
async function idle(
  address: string,
  opening: string | Buffer,
  count = COUNT,
): Promise<AttackResult & { readonly open: number }> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: AT_A_TIME }, () => openSocket(address));
    sockets.push(...some);
    await Promise.all(some.map((socket) => answered(socket, opening)));
  }
  await wait(HOLD_MS);
  const got = tally(sockets.map(({ destroyed }) => (destroyed ? "reset" : "open")));
  const open = sockets.filter(({ destroyed }) => !destroyed).length;
  for (const [index, socket] of sockets.entries()) {
    socket.destroy();
    if (index % LEAVE_AT_A_TIME === 0) await wait(10);
  }
  return { got, open };
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

/** Messages without content, as many as one frame takes. */
const EMPTY_MESSAGES = Buffer.alloc(16_380);
/** A stream of V2 reserves a window for what comes behind the requests that it has begun. */
const STREAMS = { [METHODS.stream]: 250, [REFLECTION]: 10_000 } as const;
const STREAMS_OF_SESSION = 250;

/** Thousands of messages on each of many streams whose answers are not taken. */
async function emptyMessages(target: Target, path: keyof typeof STREAMS): Promise<AttackResult> {
  const sessions = await Promise.all(
    Array.from({ length: STREAMS[path] / STREAMS_OF_SESSION }, () => openSession(target, 0)),
  );
  const streams = sessions.flatMap((session) =>
    Array.from({ length: STREAMS_OF_SESSION }, () => {
      const stream = openStream(session, { path });
      stream.on("error", () => {}).write(EMPTY_MESSAGES);
      return stream;
    }),
  );
  await wait(HOLD_MS);
  const got = tally(streams.map(({ destroyed }) => (destroyed ? "ended" : "open")));
  for (const session of sessions) session.destroy();
  return { got };
}

/** Newcomers that have to be let in, more than leave by chance, and the time for all of them in milliseconds. */
const NEWCOMERS = 50;
const IN_MS = 10_000;
/** The address that has most connections, of which the oldest quiet one makes room. */
const ATTACKER = "127.0.0.2";

/**
 * Takes every connection, each with a stream that is not used; another client has to get in, and the oldest stream of
 * the same address, which is used a little, has to stay.
 */
async function busyBeyondLimit(target: Target): Promise<AttackResult> {
  const endUse = useStream(target);
  const sessions = Array.from({ length: 2000 }, () => connectFrom(target, ATTACKER));
  for (const session of sessions) openStream(session, { path: METHODS.stream }).on("error", () => {});
  await wait(HOLD_MS);
  const began = performance.now();
  const newcomers: ClientHttp2Session[] = [];
  while (newcomers.length < NEWCOMERS && performance.now() - began < IN_MS) {
    const session = connectFrom(target, "127.0.0.3");
    openStream(session, { path: METHODS.stream }).on("error", () => {});
    if (await isLetIn(session)) newcomers.push(session);
  }
  const states = tally(sessions.map(({ destroyed }) => (destroyed ? "ended" : "open")));
  const got = `${states}, ${newcomers.length} others after ${Math.round(performance.now() - began)} ms`;
  const isUsed = endUse();
  for (const session of [...sessions, ...newcomers]) session.destroy();
  if (newcomers.length < NEWCOMERS) return { got, problem: "others are shut out" };
  return isUsed ? { got } : { got, problem: "a stream in use was ended" };
}

/** Milliseconds between two requests of a client that uses its stream. */
const USE_MS = 20;

/** Asks now and then on one stream; the function that it returns ends that, and is false if it had ended before. */
function useStream(target: Target): () => boolean {
  const session = connectFrom(target, ATTACKER);
  const stream = openStream(session, { path: METHODS.stream }).on("error", () => {});
  let answers = 0;
  stream.on("data", () => answers++);
  const message = frame(bytesField(1, "default"));
  const timer = setInterval(() => stream.write(message), USE_MS);
  return () => {
    clearInterval(timer);
    const isUsed = answers > 0 && !stream.destroyed;
    session.destroy();
    return isUsed;
  };
}

function connectFrom({ grpc }: Target, localAddress: string): ClientHttp2Session {
  const port = Number(grpc.split(":").at(-1));
  const createConnection = () => connectNet({ host: "127.0.0.1", port, localAddress });
  return connect(`http://${grpc}`, { createConnection }).on("error", () => {});
}

/** Resolves to false once the connection is ended. */
function isLetIn(session: ClientHttp2Session): Promise<boolean> {
  return new Promise((resolve) => {
    session.once("close", () => resolve(false));
    session.once("remoteSettings", () => resolve(true));
  });
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
