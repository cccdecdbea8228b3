import { once } from "node:events";
import { Agent, request } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { frameBytes } from "../../../src/grpc/framed-message.ts";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { endedRequests } from "../../../src/platform/limits/ended-requests.ts";
import type { OverloadRules } from "../../../src/platform/limits/overload-manager.ts";
import type { LocalService } from "../../../src/serving/local-service.ts";
import { bytesField, encodeMessage } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { startNullServer } from "../../grpc/start-null-server.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { tlsPath } from "../../helpers/tls-fixture.ts";

const MB = 1_000_000;
const MAX_BYTES = 20 * MB;
const ANSWER_BYTES = 4.5 * MB;
const PATH = "/v2/models/default/infer";
const METHOD = "/inference.GRPCInferenceService/ModelInfer";
const STREAM = "/inference.GRPCInferenceService/ModelStreamInfer";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const WATCH = "/grpc.health.v1.Health/Watch";
const TLS = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
/** Addresses of this machine by which clients are told apart. */
const [ATTACKER, NEIGHBOUR] = ["127.0.0.2", "127.0.0.3"];

/** A server of small room, whose answers are large where they are asked for. */
async function start(rules: Partial<OverloadRules> = {}, isEncrypted = false) {
  const hooks = defineHooks({
    postprocess: (outputs) => ("large" in outputs ? { large: new Uint8Array(ANSWER_BYTES) } : outputs),
  });
  const { log } = createEventLog();
  const server = await startNullServer({
    hooks,
    http: {},
    maxMessageBytes: MAX_BYTES / 2,
    maxQueueBytes: MAX_BYTES,
    sendTimeoutMs: 0,
    log,
    ...(isEncrypted && { tls: TLS }),
  });
  const { memory } = server.service as LocalService;
  memory.overload.configure({ minClientRate: 0, spanMs: 500, ...rules });
  return { server, memory, port: Number(new URL(server.httpUrl as string).port), isEncrypted };
}

type Started = Awaited<ReturnType<typeof start>>;

function openSocket({ port, isEncrypted }: Started, localAddress = ATTACKER): Socket {
  const place = { host: "127.0.0.1", port, localAddress };
  const socket = isEncrypted ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

function head(bytes: number | undefined, more = ""): string {
  const length = bytes === undefined ? "transfer-encoding: chunked" : `content-length: ${bytes}`;
  return `POST ${PATH} HTTP/1.1\r\nhost: x\r\n${length}\r\n${more}\r\n`;
}

const WANTS_LARGE = JSON.stringify({
  parameters: { binary_data_output: true },
  inputs: [{ name: "large", datatype: "UINT8", shape: [1], data: [1] }],
});

/** The status of another client's request of so many bytes. */
async function statusOf({ port, isEncrypted }: Started, bytes: number, localAddress = NEIGHBOUR): Promise<number> {
  const text = JSON.stringify({ inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: ["x".repeat(bytes)] }] });
  const ask = isEncrypted ? (await import("node:https")).request : request;
  const agent = isEncrypted ? false : new Agent();
  const call = ask({
    ...{ host: "127.0.0.1", port, localAddress, method: "POST", path: PATH, agent, rejectUnauthorized: false },
    headers: { "content-length": text.length },
  });
  call.end(text);
  const [response] = await once(call, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

async function openSession({ server }: Started, initialWindowSize = 65_535): Promise<ClientHttp2Session> {
  const socket = connect({
    host: "127.0.0.1",
    port: Number(server.grpcAddress.split(":").at(-1)),
    localAddress: ATTACKER,
  });
  const session = connectHttp2("http://x", { createConnection: () => socket, settings: { initialWindowSize } });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  await once(session, "connect");
  return session;
}

function openStream(session: ClientHttp2Session, path: string) {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  return stream;
}

/** The beginning of a message that announces more than it brings. */
function halfMessage(announced: number, sent: number): Buffer {
  const bytes = Buffer.alloc(5 + sent);
  bytes.writeUInt32BE(announced, 1);
  return bytes;
}

function grpcQuestion(name: string): Buffer {
  const text = (value: string) => Buffer.from(value);
  const input = encodeMessage([bytesField(1, text(name)), bytesField(2, text("UINT8")), bytesField(3, Buffer.of(1))]);
  const message = [bytesField(1, text("default")), bytesField(5, Buffer.from(input)), bytesField(7, Buffer.of(1))];
  return Buffer.concat(frameBytes(Buffer.from(encodeMessage(message))));
}

const HALF = 17_000;

describe.each([
  ["plain", false],
  ["encrypted", true],
])("over %s connections", (_, isEncrypted) => {
  test.each([
    ["announced", head(MAX_BYTES / 2)],
    ["chunked", `${head(undefined)}${(MAX_BYTES / 2).toString(16)}\r\n`],
    ["a form", head(MAX_BYTES / 2, "content-type: multipart/form-data; boundary=b\r\n")],
    ["compressed", head(MAX_BYTES / 2, "content-encoding: gzip\r\n")],
  ])("bodies that are %s and do not come hold what has come, and no more", async (_kind, beginning) => {
    const started = await start({}, isEncrypted);
    for (let count = 0; count < 4; count++) openSocket(started).write(beginning + "a".repeat(HALF));
    await expect.poll(() => started.memory.heldBytes).toBeGreaterThanOrEqual(4 * HALF);
    expect(started.memory.heldBytes).toBeLessThan(MB);
    expect(await statusOf(started, 2 * MB)).toBe(200);
    expect(await statusOf(started, 2 * MB, ATTACKER)).toBe(200);
  });

  test("a body that comes too slowly is answered with 408, and holds nothing from then on", async () => {
    const started = await start({ minClientRate: 10_000 }, isEncrypted);
    const socket = openSocket(started);
    socket.write(head(5 * MB) + "a".repeat(MB));
    const drip = setInterval(() => socket.write("a"), 50);
    const [answer] = await once(socket, "data");
    clearInterval(drip);
    expect(String(answer)).toMatch(/^HTTP\/1.1 408 [\s\S]*--min-client-rate/);
    expect(started.memory.heldBytes).toBe(0);
  });

  test("an answer that is taken too slowly is cut, though a little is taken all the time", async () => {
    const started = await start({ minClientRate: 100_000 }, isEncrypted);
    const socket = openSocket(started);
    socket.pause();
    socket.write(head(WANTS_LARGE.length) + WANTS_LARGE);
    await expect.poll(() => started.memory.heldBytes).toBeGreaterThanOrEqual(ANSWER_BYTES);
    const sip = setInterval(() => socket.read(100), 50);
    await expect.poll(() => started.memory.heldBytes, { timeout: 10_000 }).toBe(0);
    clearInterval(sip);
  });

  test("answers that one client does not take give way to another client, at once", async () => {
    const started = await start({}, isEncrypted);
    for (let count = 1; count <= 4; count++) {
      const socket = openSocket(started);
      socket.pause();
      socket.write(head(WANTS_LARGE.length) + WANTS_LARGE);
      await expect.poll(() => started.memory.heldBytes).toBeGreaterThanOrEqual(count * ANSWER_BYTES);
    }
    const ended = endedRequests.of("memory");
    expect(await statusOf(started, 9 * MB)).toBe(200);
    expect(endedRequests.of("memory")).toBeGreaterThan(ended);
  });
});

test("a body that Node itself gives up holds nothing a moment later, though its client never closes", async () => {
  const { createHttpServer } = await import("../../../src/proxy/http-server.ts");
  const { MemoryBudget } = await import("../../../src/platform/limits/memory/memory-budget.ts");
  const { PROTOCOLS } = await import("../../../src/server/protocols.ts");
  const { sliceSettings } = await import("../../../src/platform/limits/settings/server-settings.ts");
  const { ScriptedService } = await import("../../grpc/scripted-service.ts");
  const memory = new MemoryBudget(MAX_BYTES);
  const service = new ScriptedService();
  const options = {
    host: "127.0.0.1",
    port: 0,
    protocols: PROTOCOLS,
    settings: sliceSettings({}),
    memory,
    arrivalTimeoutMs: 400,
    log: createEventLog().log,
  };
  const server = await createHttpServer(service, options);
  onTestFinished(() => server.close(0));
  const socket = connect({ host: "127.0.0.1", port: server.port, allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {}).write(head(MB) + "a".repeat(HALF));
  const [answer] = await once(socket, "data");
  expect(String(answer)).toContain("408");
  await expect.poll(() => memory.heldBytes, { timeout: 5000 }).toBe(0);
});

describe("over gRPC", () => {
  test.each([METHOD, STREAM])("messages of %s that do not come hold what has come, and no more", async (path) => {
    const started = await start();
    const session = await openSession(started);
    for (let count = 0; count < 4; count++) openStream(session, path).write(halfMessage(MAX_BYTES / 2, HALF));
    await expect.poll(() => started.memory.heldBytes).toBeGreaterThanOrEqual(4 * HALF);
    expect(started.memory.heldBytes).toBeLessThan(MB);
    expect(await statusOf(started, 2 * MB)).toBe(200);
  });

  test.each([REFLECTION, WATCH])("messages of %s without content count until they are read", async (path) => {
    const started = await start();
    const session = await openSession(started, 0);
    const streams = Array.from({ length: 4 }, () => openStream(session, path));
    for (const stream of streams) stream.write(Buffer.alloc(HALF));
    await expect.poll(() => started.memory.heldBytes).toBeGreaterThanOrEqual(4 * 16_000);
    for (const stream of streams) stream.close();
    await expect.poll(() => started.memory.heldBytes).toBe(0);
  });

  test("messages without content are answered one by one, of however many frames", async () => {
    const stream = openStream(await openSession(await start()), STREAM);
    stream.end(Buffer.alloc(5 * 10_000));
    let bytes = 0;
    for await (const answer of stream) bytes += answer.length;
    expect(bytes % 10_000).toBe(0);
    expect(bytes).toBeGreaterThan(0);
  });

  test.each([METHOD, STREAM])("a message of %s that comes too slowly ends its call with a status", async (path) => {
    const started = await start({ minClientRate: 10_000 });
    const stream = openStream(await openSession(started), path);
    stream.write(halfMessage(MAX_BYTES / 2, 50_000));
    const drip = setInterval(() => stream.write(Buffer.of(0)), 50);
    const [headers] = await once(stream, "response");
    clearInterval(drip);
    expect(headers).toMatchObject({ "grpc-status": "4" });
    expect(String(headers["grpc-message"])).toContain("--min-client-rate");
    expect(started.memory.heldBytes).toBe(0);
  });

  test.each([METHOD, STREAM])("an answer of %s that is not taken is reset", async (path) => {
    const started = await start({ minClientRate: 10_000_000 });
    const stream = openStream(await openSession(started, 10_000), path);
    stream.pause();
    stream.write(grpcQuestion("large"));
    if (path === METHOD) stream.end();
    await expect.poll(() => stream.closed).toBe(true);
    expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await expect.poll(() => started.memory.heldBytes).toBe(0);
  });

  test("unread answers of a stream give way to another client", async () => {
    const started = await start();
    const stream = openStream(await openSession(started, 10_000), STREAM);
    stream.pause();
    stream.write(Buffer.concat(Array.from({ length: 4 }, () => grpcQuestion("large"))));
    await expect.poll(() => started.memory.heldBytes).toBeGreaterThanOrEqual(4 * ANSWER_BYTES);
    expect(await statusOf(started, 9 * MB)).toBe(200);
  });

  test("streams that a client leaves unread are places that it holds: it gets no more, and another gets one", async () => {
    const hooks = defineHooks({
      async *process(inputs) {
        do yield inputs;
        while ("endless" in inputs);
      },
    });
    const server = await startNullServer({ hooks, http: {}, maxQueue: 32, sendTimeoutMs: 0 });
    const { memory } = server.service as LocalService;
    const started = { server, memory, port: Number(new URL(server.httpUrl as string).port), isEncrypted: false };
    const session = await openSession(started, 0);
    for (let count = 0; count < 32; count++) openStream(session, STREAM).write(grpcQuestion("endless"));
    await expect.poll(() => server.inFlight().length).toBe(32);
    expect([await statusOf(started, 1, ATTACKER), await statusOf(started, 1)]).toEqual([503, 200]);
    session.destroy();
    await expect.poll(() => server.inFlight()).toEqual([]);
    expect(await statusOf(started, 1, ATTACKER)).toBe(200);
  });

  test("a stream that is idle, or between messages, is never too slow", async () => {
    const started = await start({ minClientRate: 10_000_000, spanMs: 100 });
    const session = await openSession(started);
    const stream = openStream(session, STREAM);
    const answers: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => answers.push(bytes));
    stream.write(grpcQuestion("x"));
    await expect.poll(() => answers.length).toBe(1);
    const slow = openStream(session, METHOD);
    slow.write(halfMessage(MB, 10));
    await once(slow, "response");
    stream.write(grpcQuestion("x"));
    await expect.poll(() => answers.length).toBe(2);
  });
});
