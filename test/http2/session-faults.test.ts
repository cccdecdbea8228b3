import { expect, it } from "vitest";
import { makeFrame, uint32s } from "../../src/http2/frame-output.ts";
import type { SentHeaders } from "../../src/http2/hpack-encoder.ts";
import { ERROR, FLAG, FRAME, MAX_WINDOW_BYTES, PREFACE, SETTING } from "../../src/http2/protocol.ts";
import type { ServerSession } from "../../src/http2/server-session.ts";
import { Random } from "../grpc/random.ts";
import { LIMITS, RawClient, REQUEST, startSessions } from "./raw-client.ts";

/** A server that answers a request once it has come whole. */
function start(limits = LIMITS): Promise<number> {
  return startSessions((session) => {
    session.on("stream", (stream) => {
      stream.receiveInto({ take: () => {}, end: () => stream.respond({ ":status": 200 }, true) });
    });
  }, limits);
}

function setting(name: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(0, name), uint32s(value)]);
}

const EMPTY = Buffer.alloc(0);
const BLOCK = Buffer.of(0x82, 0x84, 0x86);
/** A stream's request that has not ended. */
const OPEN = makeFrame(FRAME.headers, FLAG.endHeaders, 1, BLOCK);
const DONE = makeFrame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, BLOCK);

it.each<[string, number, Buffer[]]>([
  ["data before any stream", ERROR.protocol, [makeFrame(FRAME.data, 0, 1, EMPTY)]],
  ["data without a stream", ERROR.protocol, [makeFrame(FRAME.data, 0, 0, EMPTY)]],
  ["data on a stream of the server", ERROR.protocol, [OPEN, makeFrame(FRAME.data, 0, 2, EMPTY)]],
  ["headers on a stream of the server", ERROR.protocol, [makeFrame(FRAME.headers, FLAG.endHeaders, 2, BLOCK)]],
  ["headers without a stream", ERROR.protocol, [makeFrame(FRAME.headers, FLAG.endHeaders, 0, BLOCK)]],
  [
    "headers on a stream that was skipped",
    ERROR.streamClosed,
    [makeFrame(FRAME.headers, FLAG.endHeaders, 3, BLOCK), OPEN],
  ],
  [
    "headers with more padding than bytes",
    ERROR.protocol,
    [makeFrame(FRAME.headers, FLAG.endHeaders | FLAG.padded, 1, Buffer.of(4, 0x82))],
  ],
  [
    "headers without the priority that they announce",
    ERROR.frameSize,
    [makeFrame(FRAME.headers, FLAG.endHeaders | FLAG.priority, 1, Buffer.of(4, 0x82))],
  ],
  [
    "a header block that cannot be decoded",
    ERROR.compression,
    [makeFrame(FRAME.headers, FLAG.endHeaders, 1, Buffer.of(0xff))],
  ],
  [
    "a header block that another stream interrupts",
    ERROR.protocol,
    [makeFrame(FRAME.headers, 0, 1, BLOCK), makeFrame(FRAME.headers, FLAG.endHeaders, 3, BLOCK)],
  ],
  [
    "a header block that data interrupts",
    ERROR.protocol,
    [makeFrame(FRAME.headers, 0, 1, BLOCK), makeFrame(FRAME.data, 0, 1, EMPTY)],
  ],
  [
    "a header block that an unknown frame interrupts",
    ERROR.protocol,
    [makeFrame(FRAME.headers, 0, 1, BLOCK), makeFrame(99, 0, 1, EMPTY)],
  ],
  ["a continuation of nothing", ERROR.protocol, [OPEN, makeFrame(FRAME.continuation, FLAG.endHeaders, 1, BLOCK)]],
  ["a priority without a stream", ERROR.protocol, [makeFrame(FRAME.priority, 0, 0, Buffer.alloc(5))]],
  ["a priority of four bytes of an idle stream", ERROR.frameSize, [makeFrame(FRAME.priority, 0, 1, Buffer.alloc(4))]],
  ["an idle stream as its own parent", ERROR.protocol, [makeFrame(FRAME.priority, 0, 1, Buffer.of(0, 0, 0, 1, 0))]],
  [
    "a stream that is its own parent, in several frames",
    ERROR.protocol,
    [makeFrame(FRAME.headers, FLAG.priority, 1, Buffer.of(0, 0, 0, 1, 0, 0x82))],
  ],
  ["a reset of an idle stream", ERROR.protocol, [makeFrame(FRAME.reset, 0, 1, uint32s(8))]],
  ["a reset without a stream", ERROR.protocol, [makeFrame(FRAME.reset, 0, 0, uint32s(8))]],
  ["a reset of three bytes", ERROR.frameSize, [OPEN, makeFrame(FRAME.reset, 0, 1, Buffer.alloc(3))]],
  [
    "a reset of a stream of the server",
    ERROR.protocol,
    [makeFrame(FRAME.headers, FLAG.endHeaders, 3, BLOCK), makeFrame(FRAME.reset, 0, 2, uint32s(8))],
  ],
  [
    "a window's update on a stream of the server",
    ERROR.protocol,
    [makeFrame(FRAME.headers, FLAG.endHeaders, 3, BLOCK), makeFrame(FRAME.windowUpdate, 0, 2, uint32s(1))],
  ],
  ["settings with a stream", ERROR.protocol, [makeFrame(FRAME.settings, 0, 1, EMPTY)]],
  ["settings of five bytes", ERROR.frameSize, [makeFrame(FRAME.settings, 0, 0, Buffer.alloc(5))]],
  [
    "settings that acknowledge something",
    ERROR.frameSize,
    [makeFrame(FRAME.settings, FLAG.ack, 0, setting(SETTING.enablePush, 0))],
  ],
  ["a push setting of 2", ERROR.protocol, [makeFrame(FRAME.settings, 0, 0, setting(SETTING.enablePush, 2))]],
  [
    "a window of 2^31",
    ERROR.flowControl,
    [makeFrame(FRAME.settings, 0, 0, setting(SETTING.initialWindowSize, 2 ** 31))],
  ],
  ["frames of 16 383 bytes", ERROR.protocol, [makeFrame(FRAME.settings, 0, 0, setting(SETTING.maxFrameSize, 16_383))]],
  ["frames of 2^24 bytes", ERROR.protocol, [makeFrame(FRAME.settings, 0, 0, setting(SETTING.maxFrameSize, 2 ** 24))]],
  ["a push", ERROR.protocol, [makeFrame(FRAME.pushPromise, FLAG.endHeaders, 1, BLOCK)]],
  ["a ping with a stream", ERROR.protocol, [makeFrame(FRAME.ping, 0, 1, Buffer.alloc(8))]],
  ["a ping of six bytes", ERROR.frameSize, [makeFrame(FRAME.ping, 0, 0, Buffer.alloc(6))]],
  ["a farewell with a stream", ERROR.protocol, [makeFrame(FRAME.goaway, 0, 1, Buffer.alloc(8))]],
  ["a farewell of seven bytes", ERROR.frameSize, [makeFrame(FRAME.goaway, 0, 0, Buffer.alloc(7))]],
  ["a window's update of three bytes", ERROR.frameSize, [makeFrame(FRAME.windowUpdate, 0, 0, Buffer.alloc(3))]],
  ["a window's update of nothing", ERROR.protocol, [makeFrame(FRAME.windowUpdate, 0, 0, uint32s(0))]],
  ["a window's update on an idle stream", ERROR.protocol, [makeFrame(FRAME.windowUpdate, 0, 1, uint32s(1))]],
  [
    "a window that becomes too large",
    ERROR.flowControl,
    [makeFrame(FRAME.windowUpdate, 0, 0, uint32s(MAX_WINDOW_BYTES))],
  ],
  [
    "all streams' windows that become too large",
    ERROR.flowControl,
    [
      OPEN,
      makeFrame(FRAME.windowUpdate, 0, 1, uint32s(MAX_WINDOW_BYTES - 65_535)),
      makeFrame(FRAME.settings, 0, 0, setting(SETTING.initialWindowSize, 65_536)),
    ],
  ],
  ["a frame that is too large", ERROR.frameSize, [makeFrame(FRAME.data, 0, 1, Buffer.alloc(16_385))]],
])("ends a connection for %s", async (_, code, frames) => {
  const client = await RawClient.open(await start());
  client.sendRaw(Buffer.concat(frames));
  expect((await client.end()).code).toBe(code);
});

it("ends a connection for data, headers and updates of a stream that both sides have ended", async () => {
  const late: Buffer[] = [makeFrame(FRAME.data, 0, 1, EMPTY), OPEN];
  for (const frame of late) {
    const client = await RawClient.open(await start());
    client.sendRaw(DONE);
    await client.receive(({ type }) => type === FRAME.headers);
    // These may still be on their way.
    client.widen(1, 1);
    client.send(FRAME.reset, 0, 1, uint32s(ERROR.cancel));
    client.send(FRAME.priority, 0, 1, Buffer.alloc(5));
    expect(await client.settle()).toEqual([]);
    client.sendRaw(frame);
    expect((await client.end()).code).toBe(ERROR.streamClosed);
  }
});

it.each<[string, Buffer]>([
  ["another protocol", Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n")],
  ["another preface", Buffer.from("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")],
  ["no settings", Buffer.concat([PREFACE, makeFrame(FRAME.ping, 0, 0, Buffer.alloc(8))])],
  ["an acknowledgement of settings", Buffer.concat([PREFACE, makeFrame(FRAME.settings, FLAG.ack, 0, EMPTY)])],
  ["data", Buffer.concat([PREFACE, makeFrame(FRAME.data, 0, 1, EMPTY)])],
])("ends a connection that begins with %s", async (_, bytes) => {
  const client = new RawClient(await start());
  client.sendRaw(bytes);
  expect((await client.end()).code).toBe(ERROR.protocol);
});

it("takes a beginning that comes byte by byte", async () => {
  const client = new RawClient(await start());
  const bytes = Buffer.concat([PREFACE, makeFrame(FRAME.settings, 0, 0, EMPTY), DONE]);
  client.socket.setNoDelay(true);
  for (const byte of bytes) {
    client.sendRaw(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  expect(client.decode(await client.receive(({ type }) => type === FRAME.headers))).toEqual({ ":status": "200" });
});

const { ":method": _method, ...noMethod } = REQUEST;
const { ":scheme": _scheme, ...noScheme } = REQUEST;
const { ":path": _path, ...noPath } = REQUEST;

it.each<[string, SentHeaders]>([
  ["no method", noMethod],
  ["no scheme", noScheme],
  ["a scheme that is none", { ...REQUEST, ":scheme": "P T" }],
  ["no path", noPath],
  ["an empty path", { ...REQUEST, ":path": "" }],
  ["a path without its slash", { ...REQUEST, ":path": "a" }],
  ["a blank in its path", { ...REQUEST, ":path": "/a b" }],
  ["a control character in its path", { ...REQUEST, ":path": "/a\x7f" }],
  ["a blank in its authority", { ...REQUEST, ":authority": "a b" }],
  ["a host that is not its authority", { ...REQUEST, host: "y" }],
  ["two hosts", { ...REQUEST, host: ["x", "x"] }],
  ["a method that is no token", { ...REQUEST, ":method": "PO ST" }],
  ["two methods", { ...REQUEST, ":method": ["GET", "GET"] }],
  ["a pseudo-header field of answers", { ...REQUEST, ":status": "200" }],
  ["an unknown pseudo-header field", { ...REQUEST, ":protocol": "x" }],
  ["a pseudo-header field behind others", { "x-a": "b", ...REQUEST }],
  ["a name in upper case", { ...REQUEST, "X-A": "b" }],
  ["a name with a space", { ...REQUEST, "x a": "b" }],
  ["a value with a line break", { ...REQUEST, "x-a": "b\r\nc" }],
  ["a value that begins with a space", { ...REQUEST, "x-a": " b" }],
  ["a field of connections", { ...REQUEST, connection: "close" }],
  ["a transfer encoding", { ...REQUEST, "transfer-encoding": "chunked" }],
  ["an encoding of trailers that is none", { ...REQUEST, te: "gzip" }],
  ["a length that is no number", { ...REQUEST, "content-length": "1x" }],
  ["two lengths", { ...REQUEST, "content-length": ["0", "0"] }],
  ["a length without data", { ...REQUEST, "content-length": "1" }],
  ["a CONNECT with a path", { ...REQUEST, ":method": "CONNECT" }],
])("resets a request that has %s", async (_, headers) => {
  const client = await RawClient.open(await start());
  client.sendHeaders(1, headers);
  expect(await client.resetOf(1)).toBe(ERROR.protocol);
  client.sendHeaders(3);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 3);
});

it.each<[string, SentHeaders]>([
  ["a host that is its authority", { ...REQUEST, host: "X" }],
  ["a host with the port of its scheme", { ...REQUEST, ":authority": "x:80", host: "x" }],
  ["a host beside an empty authority", { ...REQUEST, ":authority": "", host: "y" }],
  ["a host alone", { ":method": "GET", ":scheme": "http", ":path": "/\xe9", host: "y" }],
  ["all methods with an asterisk alone", { ...REQUEST, ":method": "OPTIONS", ":path": "*" }],
  ["a CONNECT", { ":method": "CONNECT", ":authority": "x:1" }],
  ["trailers that it may have", { ...REQUEST, te: "trailers" }],
  ["a length of nothing", { ...REQUEST, "content-length": "0" }],
])("takes a request for %s", async (_, headers) => {
  const client = await RawClient.open(await start());
  client.sendHeaders(1, headers);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 1);
});

it.each<[string, number, (client: RawClient) => void]>([
  ["less data than announced", ERROR.protocol, (client) => client.sendData(1, "1234", FLAG.endStream)],
  ["more data than announced", ERROR.protocol, (client) => client.sendData(1, "123456")],
  ["trailers without an end", ERROR.protocol, (client) => client.sendHeaders(1, { "x-a": "b" }, 0)],
  ["trailers with a pseudo-header field", ERROR.protocol, (client) => client.sendHeaders(1, { ":path": "/" })],
  ["a window's update of nothing", ERROR.protocol, (client) => client.widen(1, 0)],
  ["a window that becomes too large", ERROR.flowControl, (client) => client.widen(1, MAX_WINDOW_BYTES)],
  ["a priority of four bytes", ERROR.frameSize, (client) => client.send(FRAME.priority, 0, 1, Buffer.alloc(4))],
  ["itself as its parent", ERROR.protocol, (client) => client.send(FRAME.priority, 0, 1, Buffer.of(0, 0, 0, 1, 0))],
])("resets a stream for %s, and goes on with others", async (_, code, send) => {
  const client = await RawClient.open(await start());
  client.sendHeaders(1, { ...REQUEST, "content-length": "5" }, 0);
  send(client);
  expect(await client.resetOf(1)).toBe(code);
  client.sendHeaders(3);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 3);
});

it.each<[string, (client: RawClient) => void]>([
  ["a window's update of nothing", (client) => client.widen(1, 0)],
  ["a reset", (client) => client.send(FRAME.reset, 0, 1, uint32s(ERROR.cancel))],
])("says nothing more of a stream that both sides have ended: %s", async (_, send) => {
  const client = await RawClient.open(await start());
  client.sendHeaders(1);
  await client.receive(({ flags, id }) => id === 1 && (flags & FLAG.endStream) !== 0);
  send(client);
  expect((await client.settle()).filter(({ id }) => id === 1)).toEqual([]);
});

it.each([
  ["four bytes", ERROR.frameSize, Buffer.alloc(4)],
  ["itself as its parent", ERROR.protocol, Buffer.of(0, 0, 0, 1, 0)],
])("ends the connection for a priority of a stream that both sides have ended: %s", async (_, code, payload) => {
  const client = await RawClient.open(await start());
  client.sendHeaders(1);
  await client.receive(({ flags, id }) => id === 1 && (flags & FLAG.endStream) !== 0);
  client.send(FRAME.priority, 0, 1, payload);
  expect((await client.end()).code).toBe(code);
});

it("resets a malformed request once that has itself as its parent too", async () => {
  const client = await RawClient.open(await start());
  client.send(FRAME.headers, FLAG.endHeaders | FLAG.priority, 1, Buffer.of(0, 0, 0, 1, 0, 0x82));
  expect((await client.settle()).filter(({ id }) => id === 1)).toMatchObject([{ type: FRAME.reset }]);
});

it("resets a stream for data after its end", async () => {
  const port = await startSessions((session) => void session.on("stream", () => {}));
  const client = await RawClient.open(port);
  client.sendHeaders(1);
  client.sendData(1, "late");
  expect(await client.resetOf(1)).toBe(ERROR.streamClosed);
});

it("refuses streams and headers above its limits, and takes the next ones", async () => {
  const client = await RawClient.open(await start({ ...LIMITS, maxConcurrentStreams: 2 }));
  for (const id of [1, 3, 5]) client.sendHeaders(id, undefined, 0);
  expect(await client.resetOf(5)).toBe(ERROR.refusedStream);
  client.sendData(1, "x", FLAG.endStream);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 1);
  client.sendHeaders(7, { ...REQUEST, "x-large": "x".repeat(16_300) });
  expect(await client.resetOf(7)).toBe(ERROR.enhanceYourCalm);
  client.sendHeaders(9, { ...REQUEST, "x-many": new Array(100).fill("x") });
  expect(await client.resetOf(9)).toBe(ERROR.enhanceYourCalm);
  client.sendHeaders(11);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 11);
});

it("takes a header block in several frames", async () => {
  const client = await RawClient.open(await start());
  client.send(FRAME.headers, FLAG.endStream, 1, BLOCK.subarray(0, 1));
  client.send(FRAME.continuation, 0, 1, BLOCK.subarray(1, 1));
  client.send(FRAME.continuation, FLAG.endHeaders, 1, BLOCK.subarray(1));
  await client.receive(({ type, id }) => type === FRAME.headers && id === 1);
});

/** Frames, so many times. */
function times(count: number, frame: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => frame(index)));
}

const FLOODS: [string, string, Buffer][] = [
  ["pings", "too_many_pings", times(2000, () => makeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)))],
  ["answers to no pings", "too_many_frames", times(2000, () => makeFrame(FRAME.ping, FLAG.ack, 0, Buffer.alloc(8)))],
  ["settings", "too_many_frames", times(2000, () => makeFrame(FRAME.settings, 0, 0, EMPTY))],
  ["settings in one frame", "too_many_settings", makeFrame(FRAME.settings, 0, 0, Buffer.alloc(33 * 6))],
  ["priorities", "too_many_frames", times(2000, () => makeFrame(FRAME.priority, 0, 1, Buffer.alloc(5)))],
  ["unknown frames", "too_many_frames", times(2000, () => makeFrame(99, 0, 1, Buffer.alloc(5)))],
  ["empty data", "too_many_frames", Buffer.concat([OPEN, times(2000, () => makeFrame(FRAME.data, 0, 1, EMPTY))])],
  ["updates of windows", "too_many_frames", times(2000, () => makeFrame(FRAME.windowUpdate, 0, 0, uint32s(1)))],
  [
    "header blocks in tiny frames",
    "too_many_headers",
    Buffer.concat([
      makeFrame(FRAME.headers, 0, 1, BLOCK),
      times(2000, () => makeFrame(FRAME.continuation, 0, 1, EMPTY)),
    ]),
  ],
  [
    "a header block without an end",
    "too_many_headers",
    Buffer.concat([
      makeFrame(FRAME.headers, 0, 1, BLOCK),
      times(10, () => makeFrame(FRAME.continuation, 0, 1, Buffer.alloc(16_384, 0x82))),
    ]),
  ],
  [
    "requests that are reset at once",
    "too_many_resets",
    times(1200, (index) => {
      const id = 2 * index + 1;
      return Buffer.concat([
        makeFrame(FRAME.headers, FLAG.endHeaders, id, BLOCK),
        makeFrame(FRAME.reset, 0, id, uint32s(8)),
      ]);
    }),
  ],
  [
    "requests that the server has to reset",
    "too_many_resets",
    times(1200, (index) => {
      const id = 2 * index + 1;
      const update = makeFrame(FRAME.windowUpdate, 0, id, uint32s(0));
      return Buffer.concat([makeFrame(FRAME.headers, FLAG.endHeaders, id, BLOCK), update]);
    }),
  ],
  [
    "malformed requests",
    "too_many_frames",
    times(1200, (index) => makeFrame(FRAME.headers, FLAG.endHeaders, 2 * index + 1, Buffer.of(0x82))),
  ],
];

it.each(FLOODS)("ends a connection for a flood of %s", async (_, reason, bytes) => {
  const client = await RawClient.open(await start());
  client.sendRaw(bytes);
  expect(await client.end()).toEqual({ code: ERROR.enhanceYourCalm, reason });
});

it("ends a connection that goes on beginning calls after it was told which was the last one", async () => {
  let server: ServerSession | undefined;
  const port = await startSessions((session) => {
    server = session.on("stream", () => {});
  });
  const client = await RawClient.open(port);
  client.sendRaw(OPEN);
  await client.settle();
  server?.close();
  const lastIdOf = async () => (await client.receive(({ type }) => type === FRAME.goaway)).payload.readUInt32BE(0);
  expect(await lastIdOf()).toBe(1);
  client.sendRaw(times(2000, (index) => headers(2 * index + 3)));
  // The number never grows, or the client would take calls for begun that were ignored.
  expect(await lastIdOf()).toBe(1);
  await client.closed();
});

it.each<[string, (client: RawClient) => void]>([
  ["data", (client) => client.sendData(1, "1")],
  ["headers", (client) => client.sendHeaders(1, { "x-a": "b" }, 0)],
])("ends a connection that goes on sending %s of a request that was answered", async (_, send) => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 404 }, true));
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1, undefined, 0);
  await client.answerPing();
  await client.resetOf(1);
  for (let frame = 0; frame < 2000; frame++) send(client);
  expect(await client.end()).toEqual({ code: ERROR.enhanceYourCalm, reason: "too_many_frames" });
});

it("lets a proxy work that cancels half of its calls, in long rows too, and ends it once it cancels more", async () => {
  const client = await RawClient.open(await start());
  let lastId = 1;
  const nextId = () => {
    lastId += 2;
    return lastId;
  };
  const answered = (calls: number) => times(calls, () => headers(nextId()));
  const cancelled = (calls: number) =>
    times(calls, () => {
      const id = nextId();
      return Buffer.concat([headers(id, 0), makeFrame(FRAME.reset, 0, id, uint32s(ERROR.cancel))]);
    });
  for (let round = 0; round < 20; round++) {
    client.sendRaw(Buffer.concat([answered(50), cancelled(50)]));
    await client.settle();
  }
  for (let round = 0; round < 40; round++) {
    client.sendRaw(answered(50));
    await client.settle();
  }
  client.sendRaw(cancelled(2500));
  await client.settle();
  client.sendRaw(cancelled(2500));
  expect(await client.end()).toEqual({ code: ERROR.enhanceYourCalm, reason: "too_many_resets" });
});

it("lets a client cancel any number of calls whose answers have begun", async () => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 200 }));
  });
  const client = await RawClient.open(port);
  for (let id = 1; id < 4001; id += 2) {
    client.sendHeaders(id);
    await client.receive((frame) => frame.type === FRAME.headers && frame.id === id);
    client.send(FRAME.reset, 0, id, uint32s(ERROR.cancel));
  }
  await client.settle();
});

it("lets a client work that sends many frames of use", async () => {
  const client = await RawClient.open(await start());
  for (let id = 1; id < 6001; id += 2) {
    client.sendHeaders(id);
    client.send(FRAME.ping, 0, 0, Buffer.alloc(8));
    client.widen(0, 1);
    if (id % 100 === 1) await client.settle();
  }
  client.sendHeaders(6001);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 6001);
});

it("cuts a client that reads nothing while it has its pings answered", async () => {
  const port = await start();
  const client = await RawClient.open(port);
  client.socket.pause();
  const pings = times(9, () => makeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  // Each call gives back some of the frames that are of no use.
  for (let id = 1; !client.socket.destroyed && id < 400_001; id += 2) {
    client.sendRaw(Buffer.concat([pings, headers(id)]));
    if (id % 1000 === 1) await new Promise(setImmediate);
  }
  client.socket.resume();
  await client.closed();
});

function headers(id: number, flags: number = FLAG.endStream): Buffer {
  return makeFrame(FRAME.headers, FLAG.endHeaders | flags, id, BLOCK);
}

it("answers other clients while one floods it with requests", async () => {
  const port = await start({ ...LIMITS, maxConcurrentStreams: 100_000 });
  const flood = await RawClient.open(port);
  const other = await RawClient.open(port);
  for (let round = 0; round < 20; round++) {
    flood.sendRaw(times(2000, (index) => headers(2 * (2000 * round + index) + 1)));
    other.sendHeaders(2 * round + 1);
    const began = performance.now();
    await other.receive(({ type, id }) => type === FRAME.headers && id === 2 * round + 1);
    expect(performance.now() - began).toBeLessThan(5000);
  }
  await flood.receive(({ type, id }) => type === FRAME.headers && id === 79_999);
});

it("survives any bytes", async () => {
  const port = await start();
  const random = new Random(11);
  const conversation = Buffer.concat([
    PREFACE,
    makeFrame(FRAME.settings, 0, 0, setting(SETTING.initialWindowSize, 100)),
    OPEN,
    makeFrame(FRAME.data, FLAG.padded, 1, Buffer.from("\x03padded...")),
    makeFrame(FRAME.headers, FLAG.endStream, 3, BLOCK),
    makeFrame(FRAME.continuation, FLAG.endHeaders, 3, Buffer.from("\x40\x01a\x01b")),
    makeFrame(FRAME.windowUpdate, 0, 1, uint32s(1000)),
    makeFrame(FRAME.priority, 0, 1, Buffer.alloc(5)),
    makeFrame(FRAME.ping, 0, 0, Buffer.alloc(8)),
    makeFrame(FRAME.data, FLAG.endStream, 1, EMPTY),
    makeFrame(FRAME.reset, 0, 3, uint32s(8)),
  ]);
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(conversation);
    for (let change = random.below(4); change >= 0; change--) {
      bytes[PREFACE.length + random.below(bytes.length - PREFACE.length)] = random.below(256);
    }
    const client = new RawClient(port);
    client.socket.end(bytes);
    await client.closed();
  }
  const client = await RawClient.open(port);
  client.sendHeaders(1);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 1);
});

it("a call that its client resets while its data is queued costs no other call, and its client is told once", async () => {
  const client = await RawClient.open(await start());
  client.sendHeaders(1, REQUEST, 0);
  client.sendHeaders(3, REQUEST, 0);
  client.send(FRAME.reset, 0, 3, uint32s(ERROR.cancel));
  client.sendData(3, "queued");
  client.sendData(3, "queued too", FLAG.endStream);
  client.sendData(1, "all", FLAG.endStream);
  const resets: number[] = [];
  const answer = await client.receive(({ type, id, payload }) => {
    if (type === FRAME.reset) resets.push(id, payload.readUInt32BE(0));
    return type === FRAME.headers;
  });
  expect([answer.id, resets]).toEqual([1, [3, ERROR.streamClosed]]);
});

it.each<[string, SentHeaders, number]>([
  ["more headers", { "x-more": "1" }, 0],
  ["trailers with a method", { ":method": "GET" }, FLAG.endStream],
])("resets a request that was answered for %s in place of its end", async (_, headers, flags) => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 200 }, true));
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1, REQUEST, 0);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 1);
  client.sendHeaders(1, headers, flags);
  expect(await client.resetOf(1)).toBe(ERROR.protocol);
});
