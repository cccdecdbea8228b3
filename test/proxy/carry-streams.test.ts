import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { constants, type OutgoingHttpHeaders } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, test } from "vitest";
import { uint32s } from "../../src/http2/frame-output.ts";
import { FLAG, FRAME, SETTING } from "../../src/http2/protocol.ts";
import type { ServerSession } from "../../src/http2/server-session.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { carryStreams } from "../../src/proxy/carry-streams.ts";
import { limitSilence, OpenExchanges } from "../../src/proxy/open-exchanges.ts";
import { StreamSocket } from "../../src/proxy/stream-socket.ts";
import { echo, ScriptedService } from "../grpc/scripted-service.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { RawClient, REQUEST, startSessions } from "../http2/raw-client.ts";
import { useUpTheTurn } from "../platform/limits/use-up-the-turn.ts";
import { answerOf, ask, connectHttp2 } from "./http2-client.ts";
import { serveHttp } from "./serve-http.ts";

const PREDICT = "/v1/models/m:predict";
const LIVE = "/inference.GRPCInferenceService/ServerLive";
const BODY = '{"inputs":[1]}';
const MANY = JSON.stringify({ instances: Array.from({ length: 400_000 }, (_, index) => index) });

async function start(...[service = new ScriptedService(), options]: Partial<Parameters<typeof serveHttp>>) {
  const server = await serveHttp(service, options);
  return { ...server, service: service as ScriptedService, session: connectHttp2(server.url) };
}

describe("a request over HTTP/2 at the port of HTTP", () => {
  it("gets the answer that it gets over HTTP/1.1, with the fields that belong to no connection", async () => {
    const { session, url } = await start();
    const old = await fetch(url + PREDICT, { method: "POST", body: BODY });
    const { status, headers, body } = await ask(session, PREDICT, { "content-type": "text/plain" }, BODY);
    expect([status, body.toString()]).toEqual([old.status, await old.text()]);
    const ofConnection = new Set(["connection", "keep-alive", "transfer-encoding"]);
    const names = [...old.headers.keys()].filter((name) => !ofConnection.has(name));
    expect(Object.keys(headers).sort()).toEqual([":status", ...names].sort());
    expect(headers["content-length"]).toBe(String(body.length));
  });

  it.each([
    ["no route", 404, "/nothing", {}],
    ["a method that its route does not have", 405, "/health", { ":method": "DELETE" }],
    ["a method that there is not", 400, "/health", { ":method": "FOO" }],
    ["a host that is none", 400, "/health", { ":authority": "a/b" }],
    ["a user before its host", 400, "/health", { ":authority": "u@a" }],
    ["a body that is no JSON", 400, PREDICT, {}, "{"],
    ["headers over 16 KB", 431, "/health", { "x-long": "a".repeat(17_000) }],
    ["headers over 16 KB, and a body", 431, PREDICT, { "x-long": "a".repeat(17_000) }, BODY],
    ["an expectation that cannot be met", 417, PREDICT, { expect: "miracles" }, BODY],
    ["an encoding that is not known", 415, PREDICT, { "content-encoding": "zebra" }, BODY],
    ["a wrongly encoded path", 400, "/v2/models/%zz", {}],
  ])("with %s is refused with %i", async (_, status, path, headers, body?: string) => {
    const { session } = await start();
    const answer = await ask(session, path, headers as OutgoingHttpHeaders, body);
    expect([answer.status, JSON.parse(answer.body.toString())]).toMatchObject([status, { error: expect.any(String) }]);
    expect((await ask(session, "/health")).status).toBe(200);
  });

  it("is not a tunnel", async () => {
    const { session } = await start();
    const stream = session.request({ ":method": "CONNECT", ":authority": "x:80" });
    expect((await answerOf(stream)).status).toBe(405);
  });

  it.each([
    ["HEAD", "/health", 200],
    ["HEAD", "/nothing", 404],
  ])("by %s of %s has the head of its answer alone", async (method, path, status) => {
    const { session } = await start();
    const answer = await ask(session, path, { ":method": method });
    expect([answer.status, answer.body.length, Number(answer.headers["content-length"]) > 0]).toEqual([
      status,
      0,
      true,
    ]);
  });

  it.each(["*", "/health"])("by OPTIONS of %s is told what there is", async (path) => {
    const { session } = await start();
    expect((await ask(session, path, { ":method": "OPTIONS" })).status).toBeLessThan(500);
  });

  it("is continued where it asks for it, unless its body is not taken", async () => {
    const { session } = await start(new ScriptedService(), { maxMessageBytes: 1000 });
    const expecting = { ":method": "POST", ":path": PREDICT, expect: "100-continue" };
    const small = session.request({ ...expecting, "content-length": BODY.length });
    const continued = once(small, "continue");
    await continued;
    small.end(BODY);
    expect((await answerOf(small)).status).toBe(200);
    const large = session.request({ ...expecting, "content-length": 2000 });
    const answer = await answerOf(large);
    expect([answer.status, answer.interims]).toEqual([413, []]);
  });

  it("has its headers joined as HTTP/1.1 has them, and its trailers dropped", async () => {
    const { session, service } = await start();
    const stream = session.request(
      { ":method": "POST", ":path": PREDICT, cookie: ["a=1", "b=2"], "x-two": ["1", "2"], te: "trailers" },
      { waitForTrailers: true },
    );
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-late": "3", "content-length": "7" }));
    stream.end(BODY);
    await answerOf(stream);
    const { metadata } = service.requests[0] ?? {};
    const { port } = new URL(session.originSet?.[0] ?? `http://x:${session.socket.remotePort}`);
    expect(metadata).toMatchObject({ cookie: "a=1; b=2", "x-two": "1, 2", host: `127.0.0.1:${port}` });
    expect(metadata).not.toHaveProperty("x-late");
  });

  it("with a control character is refused with 400, though its body comes with it", async () => {
    const { port } = await start();
    const client = await RawClient.open(port);
    for (const [id, flags] of [
      [1, FLAG.endStream],
      [3, 0],
    ] as const) {
      client.socket.cork();
      client.sendHeaders(id, { ...REQUEST, ":path": PREDICT, "x-bad": "\x01" }, 0);
      client.sendData(id, BODY, flags);
      if (flags === 0) client.sendData(id, "", FLAG.endStream);
      client.socket.uncork();
      const head = await client.receive(({ type, id: of }) => of === id && type !== FRAME.data);
      expect([head.type, head.type === FRAME.headers && client.decode(head)[":status"]]).toEqual([
        FRAME.headers,
        "400",
      ]);
    }
  });

  it("has the host of :authority, and no other beside it", async () => {
    const { port, service } = await start();
    const client = await RawClient.open(port);
    for (const [id, host] of [
      [3, "b"],
      [5, "a"],
      [7, ""],
    ] as const) {
      client.sendHeaders(id, { ...REQUEST, ":path": PREDICT, ":authority": "a:1", host }, 0);
      expect(await client.resetOf(id)).toBe(constants.NGHTTP2_PROTOCOL_ERROR);
    }
    client.sendHeaders(9, { ...REQUEST, ":path": PREDICT, ":authority": "a:1", host: "A:1" }, 0);
    client.sendData(9, BODY, FLAG.endStream);
    await client.receive(({ type, flags }) => type === FRAME.data && (flags & FLAG.endStream) !== 0);
    expect(service.requests[0]?.metadata.host).toBe("a:1");
  });
});

describe("a target that would be read as more than one", () => {
  it.each([" ", "\t", "\x01", "\x7f"])("is no request: a path with %j", async (blank) => {
    const { port, service } = await start();
    const client = await RawClient.open(port);
    const path = `/health${blank}HTTP/1.1`;
    client.sendHeaders(1, { ...REQUEST, ":method": "GET", ":path": path });
    expect(await client.resetOf(1)).toBe(constants.NGHTTP2_PROTOCOL_ERROR);
    client.sendHeaders(3, { ...REQUEST, ":method": "GET", ":authority": `a${blank}b` });
    expect(await client.resetOf(3)).toBe(constants.NGHTTP2_PROTOCOL_ERROR);
    client.sendHeaders(5, { ...REQUEST, ":path": PREDICT }, 0);
    client.sendData(5, BODY, FLAG.endStream);
    await client.receive(({ type, id, flags }) => type === FRAME.data && id === 5 && (flags & FLAG.endStream) !== 0);
    expect(service.requests).toHaveLength(1);
  });
});

describe("a body over HTTP/2", () => {
  it.each([1, 5, 1000])(
    "comes whole in pieces of %i bytes with empty ones between them, its length known or not",
    async (bytes) => {
      const { port, service } = await start();
      const client = await RawClient.open(port);
      const body = '{"instances":[[1,2,3,4,5,6,7,8,9,10]]}';
      for (const [id, extra] of [
        [1, {}],
        [3, { "content-length": String(body.length) }],
      ] as const) {
        client.sendHeaders(id, { ...REQUEST, ":path": PREDICT, ...extra }, 0);
        for (let at = 0; at < body.length; at += bytes) {
          client.sendData(id, "");
          client.sendData(id, body.slice(at, at + bytes));
        }
        client.sendData(id, "", FLAG.endStream);
        await client.receive(
          ({ type, id: of, flags }) => of === id && type === FRAME.data && (flags & FLAG.endStream) !== 0,
        );
      }
      expect(service.requests.map(({ inputs }) => inputs)).toHaveLength(2);
    },
  );

  it("is refused by its length before it is read, and by its bytes, while the connection goes on", async () => {
    const { session } = await start(new ScriptedService(), { maxMessageBytes: 1000 });
    const announced = session.request({ ":method": "POST", ":path": PREDICT, "content-length": 2000 });
    expect((await answerOf(announced)).status).toBe(413);
    const growing = session.request({ ":method": "POST", ":path": PREDICT });
    growing.write("x".repeat(2000));
    expect((await answerOf(growing)).status).toBe(413);
    expect((await ask(session, PREDICT, {}, BODY)).status).toBe(200);
  });

  it("goes both ways in full, small beside large", async () => {
    const { session } = await start();
    const [large, ...small] = await Promise.all([
      ask(session, PREDICT, {}, MANY),
      ...Array.from({ length: 20 }, () => ask(session, PREDICT, {}, BODY)),
    ]);
    expect(JSON.parse(large!.body.toString()).predictions).toHaveLength(400_000);
    expect(small.map(({ status }) => status)).toEqual(small.map(() => 200));
    // An answer so large has no length.
    expect(large!.headers["content-length"]).toBeUndefined();
  });

  it("that its client does not read keeps no other answer waiting, and is cut after a time", async () => {
    const memory = new MemoryBudget(2 ** 30);
    const { session, port } = await start(new ScriptedService(), { memory, sendTimeoutMs: 1000 });
    const client = await RawClient.open(port);
    client.sendHeaders(1, { ...REQUEST, ":path": PREDICT }, 0);
    client.widen(0, 2 ** 20);
    client.sendHeaders(3, { ...REQUEST, ":path": PREDICT }, 0);
    const text = MANY.slice(0, 500_000);
    const body = `${text.slice(0, text.lastIndexOf(","))}]}`;
    for (let at = 0; at < body.length; at += 16_000) client.sendData(1, body.slice(at, at + 16_000));
    client.sendData(1, "", FLAG.endStream);
    await client.receive(({ type, id }) => type === FRAME.data && id === 1);
    client.sendData(3, BODY, FLAG.endStream);
    await client.receive(({ type, id, flags }) => type === FRAME.data && id === 3 && (flags & FLAG.endStream) !== 0);
    expect(await client.resetOf(1)).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    await expect.poll(() => memory.heldBytes).toBe(0);
    expect((await ask(session, "/health")).status).toBe(200);
  });
});

describe("a request over HTTP/2 ends", () => {
  async function startHanging() {
    const entered = createDeferred<AbortSignal>();
    const service = new ScriptedService(({ signal }) => {
      entered.resolve(signal as unknown as AbortSignal);
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    });
    return { ...(await start(service)), entered: entered.promise };
  }

  it("with its stream, and no other with it", async () => {
    const { session, entered } = await startHanging();
    const stream = session.request({ ":method": "POST", ":path": PREDICT });
    stream.on("error", () => {});
    stream.end(BODY);
    const signal = await entered;
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => signal.aborted).toBe(true);
    expect((await ask(session, "/health")).status).toBe(200);
  });

  it("with its connection", async () => {
    const { session, entered } = await startHanging();
    session
      .request({ ":method": "POST", ":path": PREDICT })
      .on("error", () => {})
      .end(BODY);
    const signal = await entered;
    session.destroy();
    await expect.poll(() => signal.aborted).toBe(true);
  });

  it("in the middle of its body, which gives back what it held", async () => {
    const memory = new MemoryBudget(1_000_000);
    const { session } = await start(new ScriptedService(), { memory });
    const stream = session.request({ ":method": "POST", ":path": PREDICT, "content-length": 500_000 });
    stream.on("error", () => {});
    stream.write("x".repeat(100_000));
    await expect.poll(() => memory.heldBytes).toBeGreaterThan(50_000);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => memory.heldBytes).toBe(0);
  });

  it("by a reset where its answer cannot be finished", async () => {
    const { session, entered, close } = await startHanging();
    const failed = expect(ask(session, PREDICT, {}, BODY)).rejects.toThrow("INTERNAL_ERROR");
    await entered;
    await close(0);
    await failed;
  });
});

test("a client may have many requests under way on one connection, and each counts as its own", async () => {
  const gate = createDeferred<void>();
  const service = new ScriptedService(async (request) => {
    await gate.promise;
    return echo(request);
  });
  const { session } = await start(service);
  const answers = Array.from({ length: 200 }, () => ask(session, PREDICT, {}, BODY));
  await expect.poll(() => service.requests.length).toBe(200);
  gate.resolve();
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([200]));
});

test("a server that is retired says so on its connections of HTTP/2, and answers what still comes", async () => {
  const { session, retire } = await start();
  await ask(session, "/health");
  await new Promise((resolve) => session.ping(resolve));
  const leaving = once(session, "goaway");
  const last = ask(session, PREDICT, {}, BODY);
  retire();
  await leaving;
  expect((await last).status).toBe(200);
});

test("a server that closes finishes what is under way, and takes nothing new", async () => {
  const gate = createDeferred<void>();
  const service = new ScriptedService(async (request) => {
    await gate.promise;
    return echo(request);
  });
  const { session, close } = await start(service);
  const answer = ask(session, PREDICT, {}, BODY);
  await expect.poll(() => service.requests.length).toBe(1);
  const closed = close(5000);
  await once(session, "goaway");
  gate.resolve();
  expect((await answer).status).toBe(200);
  await closed;
});

test("calls of gRPC are refused in their form, and logged once with the port that takes them", async () => {
  const { log, events } = createEventLog();
  const { session } = await start(new ScriptedService(), { grpcPort: 9000, log });
  const headers = { "content-type": "application/grpc", te: "trailers" };
  for (let call = 0; call < 2; call++) {
    const { status, headers: got } = await ask(session, LIVE, headers, Buffer.alloc(5));
    expect([status, got["grpc-status"], got["grpc-message"]]).toEqual([
      200,
      "12",
      "This port serves HTTP: gRPC is served on port 9000.",
    ]);
  }
  expect(events).toMatchObject([
    { level: "warn", msg: "a client of the HTTP port speaks gRPC: gRPC is served on port 9000" },
  ]);
});

test("requests that are reset as soon as they begin leave nothing behind", async () => {
  const memory = new MemoryBudget(2 ** 20);
  const { port, session } = await start(new ScriptedService(), { memory });
  // What answers is loaded with the first one.
  await ask(session, "/health");
  const client = await RawClient.open(port);
  client.socket.cork();
  for (let id = 1; id < 400; id += 2) {
    client.sendHeaders(id, { ...REQUEST, ":method": "GET", ":path": "/health" });
    client.send(FRAME.reset, 0, id, uint32s(constants.NGHTTP2_CANCEL));
  }
  client.socket.uncork();
  await client.settle();
  await expect.poll(() => memory.heldBytes).toBe(0);
});

test("requests that come whole while others have their turn have their bodies", async () => {
  const service = new ScriptedService((request) => {
    useUpTheTurn();
    return echo(request);
  });
  const { port } = await start(service);
  const client = await RawClient.open(port);
  client.socket.cork();
  const ids = Array.from({ length: 50 }, (_, index) => 2 * index + 1);
  for (const id of ids) {
    client.sendHeaders(id, { ...REQUEST, ":path": PREDICT }, 0);
    client.sendData(id, BODY, FLAG.endStream);
  }
  client.socket.uncork();
  const ended = new Set<number>();
  while (ended.size < ids.length) {
    const { id, flags } = await client.receive(({ type }) => type === FRAME.data);
    if ((flags & FLAG.endStream) !== 0) ended.add(id);
  }
  expect(service.requests).toHaveLength(ids.length);
});

test("requests that are refused without their bodies leave nothing behind", async () => {
  const { port } = await start(new ScriptedService(), { maxMessageBytes: 1000 });
  // Node 20's own client breaks its memory now and then when so many of its requests are refused before they end.
  const client = await RawClient.open(port);
  for (let round = 0; round < 20; round++) {
    client.socket.cork();
    for (let index = 0; index < 50; index++) {
      const headers = { ...REQUEST, ":path": PREDICT, "content-length": "5000" };
      client.sendHeaders(2 * (50 * round + index) + 1, headers, 0);
    }
    client.socket.uncork();
    for (let index = 0; index < 50; index++) {
      const head = await client.receive(({ type }) => type === FRAME.headers);
      expect(client.decode(head)[":status"]).toBe("413");
      client.send(FRAME.reset, 0, head.id, uint32s(constants.NGHTTP2_NO_ERROR));
    }
  }
  expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length).toBeLessThan(100);
});

describe("a client that does not read", () => {
  const GET = { ...REQUEST, ":method": "GET" };
  const LARGE = Buffer.alloc(16 * 2 ** 20);
  const OUTPUT_BYTES = 2 ** 20;

  /** A client with a window for its streams, of a server that answers in a test's way. */
  async function carry(answer: RequestListener, { windowBytes = 2 ** 30, sendTimeoutMs = 0 } = {}) {
    const server = createServer();
    const exchanges = new OpenExchanges();
    const answerStream = carryStreams(server, exchanges);
    limitSilence(server, exchanges, { sendTimeoutMs });
    server.on("request", (request, response) => exchanges.add(request, response, answer));
    const opened = createDeferred<ServerSession>();
    const port = await startSessions((session) => opened.resolve(session.on("stream", answerStream)));
    const window = Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(windowBytes)]);
    const client = await RawClient.open(port, window);
    client.widen(0, 2 ** 30);
    return { server, exchanges, client, session: await opened.promise };
  }

  /** The response to a request of which the connection cannot send all. */
  async function beginLarge(options: { readonly sendTimeoutMs?: number } = {}) {
    const responses: ServerResponse[] = [];
    const carried = await carry((request, response) => {
      responses.push(response);
      response.end(request.method === "HEAD" ? undefined : LARGE);
    }, options);
    carried.client.socket.pause();
    carried.client.sendHeaders(1, GET);
    await expect.poll(() => carried.session.socket.writableLength).toBeGreaterThan(OUTPUT_BYTES);
    return { ...carried, responses };
  }

  it("cancels at once by a reset, and what was sent counts until it has gone", async () => {
    const { client, session, responses } = await beginLarge();
    const [response] = responses;
    const { socket } = response!.req;
    let isTaken = false;
    if (socket instanceof StreamSocket) {
      socket.whenTaken(() => {
        isTaken = true;
      });
    }
    const closed = once(response!, "close");
    client.send(FRAME.reset, 0, 1, uint32s(constants.NGHTTP2_CANCEL));
    await closed;
    expect([isTaken, session.socket.writableLength > 0]).toEqual([false, true]);
    client.socket.resume();
    await expect.poll(() => isTaken).toBe(true);
  });

  it("is asked for a sign of life once its answer is cut", async () => {
    const { client, session } = await beginLarge({ sendTimeoutMs: 200 });
    await expect.poll(() => session.streams.size).toBe(0);
    client.socket.resume();
    await client.receive(({ type, flags }) => type === FRAME.ping && flags === 0);
  });

  it("has its time from when the answer is there, however long that took", async () => {
    const options = { windowBytes: 0, sendTimeoutMs: 100 };
    const { client } = await carry((_, response) => {
      response.socket?.once("timeout", () => response.end(BODY));
    }, options);
    client.sendHeaders(1, GET);
    expect(await client.resetOf(1)).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });

  it("gets an answer without a body before the server closes", async () => {
    const { client, exchanges, responses } = await beginLarge();
    client.sendHeaders(3, { ...GET, ":method": "HEAD" });
    await expect.poll(() => responses.length).toBe(2);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    exchanges.drain();
    client.socket.resume();
    expect((await client.receive(({ id }) => id === 3)).type).toBe(FRAME.headers);
  });

  it("gets the end of an answer in chunks before the server closes", async () => {
    let endChunks = () => {};
    const { client, exchanges, session } = await carry(({ url }, response) => {
      if (url !== "/chunks") {
        response.end(LARGE);
        return;
      }
      response.write("a");
      endChunks = () => response.end();
    });
    client.sendHeaders(1, { ...GET, ":path": "/chunks" });
    await client.receive(({ type, id }) => type === FRAME.data && id === 1);
    client.socket.pause();
    client.sendHeaders(3, GET);
    await expect.poll(() => session.socket.writableLength).toBeGreaterThan(OUTPUT_BYTES);
    endChunks();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    exchanges.drain();
    client.socket.resume();
    const { type, flags } = await client.receive(({ id }) => id === 1);
    expect([type, flags]).toEqual([FRAME.data, FLAG.endStream]);
  });
});
