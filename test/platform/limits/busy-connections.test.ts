import { once } from "node:events";
import { request } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { createDeferred } from "../../../src/platform/async/promises.ts";
import { ConnectionLimit, type ConnectionProblem } from "../../../src/platform/limits/connection-limit.ts";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { createHttpServer } from "../../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../../src/server/protocols.ts";
import { echo, type Script, ScriptedService, serve } from "../../grpc/scripted-service.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tlsPath } from "../../helpers/tls-fixture.ts";

const [GREEDY, MODEST] = ["127.0.0.2", "127.0.0.3"];
const STREAM = "/inference.GRPCInferenceService/ModelStreamInfer";
const METHOD = "/inference.GRPCInferenceService/ModelInfer";
const WATCH = "/grpc.health.v1.Health/Watch";
const PATH = "/v2/models/default/infer";
const BODY = JSON.stringify({ inputs: [{ name: "x", datatype: "INT32", shape: [1], data: [1] }] });
const EMPTY_MESSAGE = Buffer.alloc(5);

/** The message of a stream for the model `default`, whose id has 10 000 bytes. */
const LONG_REQUEST = Buffer.concat([
  Buffer.of(0, 0, 0, 0x27, 0x1c, 0x0a, 7),
  Buffer.from("default"),
  Buffer.of(0x1a, 0x90, 0x4e),
  Buffer.alloc(10_000, "a"),
]);

/** Both transports, with a limit of connections that looks at busy ones again and again. */
async function start(max: number, script: Script = echo) {
  const service = new ScriptedService(script);
  const problems: ConnectionProblem[] = [];
  const connections = new ConnectionLimit({ max, lookMs: 5, onProblem: (problem) => problems.push(problem) });
  const { port: grpcPort } = await serve(service, { connections });
  const rules = { host: "127.0.0.1", port: 0, protocols: PROTOCOLS, connections, log: createSilentLogger() };
  const http = await createHttpServer(service, { ...rules, settings: sliceSettings({}) });
  onTestFinished(() => http.close(0));
  return { service, problems, ports: { grpc: grpcPort, http: http.port } };
}

interface Ports {
  readonly grpc: number;
  readonly http: number;
}

function openSocket(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1", localAddress: GREEDY });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** A stream on its own connection. */
function openStream(port: number, path: string, connection: () => Socket = () => openSocket(port)) {
  const session: ClientHttp2Session = connectHttp2("http://x", { createConnection: connection });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const kind = { "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ":method": "POST", ":path": path, ...kind });
  stream.on("error", () => {});
  return { session, stream };
}

/** The status of a request of another client, 0 if its connection is refused. */
async function ask({ http }: Ports): Promise<number> {
  const call = request({ host: "127.0.0.1", port: http, localAddress: MODEST, path: "/health", agent: false });
  call.end();
  try {
    const [response] = await once(call, "response");
    response.resume();
    return response.statusCode;
  } catch {
    return 0;
  }
}

/** Resolves with what the client was told once its connection was ended. */
async function toldOn({ session, stream }: ReturnType<typeof openStream>): Promise<unknown> {
  const goaway = new Promise<object>((resolve) => {
    session.once("goaway", (code, _, reason) => resolve({ code, reason: String(reason) }));
  });
  const status = new Promise((resolve) => {
    stream.once("response", (headers) => resolve(headers["grpc-status"]));
  });
  return { ...(await goaway), status: await status };
}

describe.each([
  ["a stream that is not used", STREAM, false],
  ["a stream whose message does not come", STREAM, true],
  ["a call whose message does not come", METHOD, true],
])("%s", (_, path, hasBegun) => {
  test("makes room for a client that has fewer connections, and is told so", async () => {
    const { ports, problems } = await start(3);
    const greedy = [0, 1, 2].map(() => openStream(ports.grpc, path));
    await Promise.all(greedy.map(({ session }) => once(session, "remoteSettings")));
    if (hasBegun) for (const { stream } of greedy) stream.write(Buffer.of(0, 0, 0));
    const told = Promise.race(greedy.map(toldOn));
    await expect.poll(() => ask(ports)).toBe(200);
    const { NGHTTP2_ENHANCE_YOUR_CALM: code } = constants;
    expect(await told).toEqual({ code, reason: expect.stringContaining("no room for more connections"), status: "14" });
    expect(problems.filter(({ kind }) => kind === "quiet")).toHaveLength(1);
    expect(greedy.filter(({ session }) => session.destroyed)).toHaveLength(1);
  });
});

test("watchers make room", async () => {
  const { ports } = await start(3);
  const greedy = [0, 1, 2].map(() => openStream(ports.grpc, WATCH));
  for (const { stream } of greedy) stream.end(EMPTY_MESSAGE);
  await Promise.all(greedy.map(({ stream }) => once(stream.resume(), "response")));
  await expect.poll(() => ask(ports)).toBe(200);
  await expect.poll(() => greedy.filter(({ session }) => session.destroyed).length).toBe(1);
});

/** Resolves once the server waits for the body of a request. */
async function beginBody(socket: Socket, bytes: number): Promise<void> {
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\nExpect: 100-continue\r\n\r\n`);
  await once(socket, "data");
}

test("a request of HTTP whose body does not come makes room, with an answer", async () => {
  const { ports } = await start(2);
  const greedy = [openSocket(ports.http), openSocket(ports.http)];
  await Promise.all(greedy.map((socket) => beginBody(socket, 100)));
  const answer = Promise.race(greedy.map((socket) => once(socket, "data")));
  await expect.poll(() => ask(ports)).toBe(200);
  expect(String(await answer)).toMatch(/^HTTP\/1.1 503 [\s\S]*no room for more connections/);
});

test("what runs makes no room, nor does a client with no more connections than others", async () => {
  const over = createDeferred<void>();
  const { service, ports, problems } = await start(3, async (asked) => {
    await over.promise;
    return echo(asked);
  });
  const answers = [openSocket(ports.http), openSocket(ports.http)].map((socket) => {
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`);
    return once(socket, "data");
  });
  const { stream } = openStream(ports.grpc, STREAM);
  stream.write(LONG_REQUEST);
  answers.push(once(stream, "data"));
  await expect.poll(() => service.requests.length).toBe(3);
  while (problems.length < 50) expect(await ask(ports)).toBe(0);
  expect(problems.every(({ kind }) => kind === "full")).toBe(true);
  over.resolve();
  await Promise.all(answers);
});

test("a connection on which something moves makes no room", async () => {
  const { ports, problems } = await start(2);
  const greedy = [openStream(ports.grpc, STREAM), openStream(ports.grpc, STREAM)];
  while (problems.length < 50) {
    // What was written may still be under way when the next connection comes; what was answered is not.
    for (const { stream } of greedy) {
      stream.write(LONG_REQUEST);
      await once(stream, "data");
    }
    expect(await ask(ports)).toBe(0);
  }
  expect(greedy.some(({ session }) => session.destroyed)).toBe(false);
});

test("encrypted streams that are not used make room, and the log says so", async () => {
  const { log, find } = createEventLog();
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
  const { grpcAddress } = await startServer({
    stages: [{ driver: "null" }],
    maxConnections: 3,
    log,
    tls,
    listeners: 1,
  });
  const port = Number(grpcAddress.split(":").at(-1));
  const openTls = (localAddress: string) => () =>
    connectTls({ port, host: "127.0.0.1", localAddress, rejectUnauthorized: false, ALPNProtocols: ["h2"] } as object);
  const greedy = [0, 1, 2].map(() => openStream(port, STREAM, openTls(GREEDY)));
  await Promise.all(greedy.map(({ session }) => once(session, "remoteSettings")));
  const isIn = async () => {
    const { session } = openStream(port, STREAM, openTls(MODEST));
    return Promise.race([once(session, "remoteSettings").then(() => true), once(session, "close").then(() => false)]);
  };
  await expect.poll(isIn, { timeout: 20_000, interval: 200 }).toBe(true);
  const text = "the client that has most loses connections on which next to nothing moves: there are 3";
  await find({ msg: `${text}, the most that the server may have (--max-connections)` });
  await expect.poll(() => greedy.filter(({ session }) => session.destroyed).length).toBe(1);
});
