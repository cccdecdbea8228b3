import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { createServer as createTlsServer } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { uint32s } from "../../src/http2/frame-output.ts";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { ERROR, FLAG, FRAME, MAX_WINDOW_BYTES, SETTING } from "../../src/http2/protocol.ts";
import { ServerSession } from "../../src/http2/server-session.ts";
import type { SessionStream } from "../../src/http2/session-stream.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { listenOnFreePort } from "./listen-on-free-port.ts";
import { LIMITS, RawClient, REQUEST, startSessions } from "./raw-client.ts";

type Stream = SessionStream<ServerSession>;

/** Answers each request with its own data, and says in a trailer how much there was. */
function echo(stream: Stream): void {
  const pieces: Buffer[] = [];
  stream.receiveInto({
    take: (bytes, start, end) => void pieces.push(Buffer.from(bytes.subarray(start, end))),
    end: () => {
      const all = Buffer.concat(pieces);
      stream.respond({ ":status": 200, "x-trailer": stream.trailers?.at(-1) ?? "none" });
      stream.end(all, { "x-bytes": String(all.length) });
    },
  });
}

function startEcho(limits = LIMITS): Promise<number> {
  return startSessions((session) => void session.on("stream", echo), limits);
}

function connect(port: number): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  return session;
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly data: Buffer;
}

async function call(session: ClientHttp2Session, data: Buffer, trailers?: Record<string, string>): Promise<Answer> {
  const stream = session.request({ ":method": "POST", ":path": "/echo" }, { waitForTrailers: trailers !== undefined });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers ?? {}));
  stream.end(data);
  let received: IncomingHttpHeaders = {};
  stream.on("trailers", (headers: IncomingHttpHeaders) => {
    received = headers;
  });
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return { headers, trailers: received, data: Buffer.concat(pieces) };
}

it("answers requests with data of any size, and with trailers both ways", async () => {
  const session = connect(await startEcho());
  for (const bytes of [0, 1, 16_384, 16_385, 70_000, 5_000_000]) {
    const data = Buffer.alloc(bytes, "data");
    const answer = await call(session, data, { "x-sent": "yes" });
    expect(answer.headers).toMatchObject({ ":status": 200, "x-trailer": "yes" });
    expect(answer.trailers).toMatchObject({ "x-bytes": String(bytes) });
    expect(answer.data.equals(data)).toBe(true);
  }
});

it("answers over TLS", async () => {
  const key = tlsFile("server.key");
  const server = createTlsServer({ key, cert: tlsFile("server.pem"), ALPNProtocols: ["h2"] }, (socket) => {
    const session = new ServerSession(socket, LIMITS);
    session.on("stream", echo);
  });
  const port = await listenOnFreePort(server);
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  for (const bytes of [10, 5_000_000]) {
    const data = Buffer.alloc(bytes, "data");
    expect((await call(session, data)).data.equals(data)).toBe(true);
  }
});

it("answers many requests at a time, over more than the connection's window", async () => {
  const session = connect(await startEcho({ ...LIMITS, streamWindowBytes: 65_535, connectionWindowBytes: 65_535 }));
  const sent = Array.from({ length: 60 }, (_, index) => Buffer.alloc(100_000 + index, index));
  const answers = await Promise.all(sent.map((data) => call(session, data)));
  expect(answers.every(({ data }, index) => data.equals(sent[index] as Buffer))).toBe(true);
});

it("says what its limits are, and acknowledges its client's settings", async () => {
  const client = new RawClient(await startEcho());
  const { type, payload } = await client.receive();
  expect(type).toBe(FRAME.settings);
  const parameters = Array.from({ length: payload.length / 6 }, (_, index) => [
    payload.readUInt16BE(6 * index),
    payload.readUInt32BE(6 * index + 2),
  ]);
  expect(Object.fromEntries(parameters)).toEqual({
    [SETTING.maxConcurrentStreams]: 100,
    [SETTING.initialWindowSize]: 2 ** 20,
    [SETTING.maxHeaderListSize]: 16_384,
  });
  const window = await client.receive();
  expect([window.type, window.id, window.payload.readUInt32BE(0)]).toEqual([FRAME.windowUpdate, 0, 2 ** 24 - 65_535]);
});

it("sends no more than the windows of stream and connection, each as they open", async () => {
  const settings = Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(10)]);
  const client = await RawClient.open(await startEcho(), settings);
  client.sendHeaders(1, undefined, 0);
  client.sendData(1, "0123456789abcdefghij", FLAG.endStream);
  const dataOf = async () =>
    (await client.settle()).filter(({ type }) => type === FRAME.data).map(({ payload }) => payload.toString());
  expect(await dataOf()).toEqual(["0123456789"]);
  client.widen(1, 3);
  expect(await dataOf()).toEqual(["abc"]);
  // A new size of all windows changes this one by the difference, here to less than nothing.
  client.send(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(5)]));
  expect(await dataOf()).toEqual([]);
  client.widen(1, 6);
  expect(await dataOf()).toEqual(["d"]);
  client.send(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(100)]));
  const rest = await client.settle();
  expect(rest.map(({ type }) => type)).toEqual([FRAME.settings, FRAME.data, FRAME.headers]);
  expect(rest[1]?.payload.toString()).toBe("efghij");
  expect(rest[2]?.flags).toBe(FLAG.endStream | FLAG.endHeaders);
});

it("sends frames as large as its client takes them", async () => {
  const client = await RawClient.open(
    await startEcho(),
    Buffer.concat([
      Buffer.of(0, SETTING.maxFrameSize),
      uint32s(40_000),
      Buffer.of(0, SETTING.initialWindowSize),
      uint32s(2 ** 20),
    ]),
  );
  client.sendHeaders(1, undefined, 0);
  for (let piece = 0; piece < 3; piece++) client.sendData(1, Buffer.alloc(16_384), piece === 2 ? FLAG.endStream : 0);
  const data = (await client.settle()).filter(({ type }) => type === FRAME.data);
  expect(data.map(({ payload }) => payload.length)).toEqual([40_000, 3 * 16_384 - 40_000]);
});

it("refers to no entry of a table that its client does not keep", async () => {
  const settings = Buffer.concat([Buffer.of(0, SETTING.headerTableSize), uint32s(0)]);
  const client = await RawClient.open(
    await startSessions((session) => {
      session.on("stream", (stream) => stream.respond({ ":status": 200, "content-type": "text/x-repeated" }, true));
    }),
    settings,
  );
  for (const id of [1, 3, 5]) {
    client.sendHeaders(id);
    const { payload } = await client.receive(({ type }) => type === FRAME.headers);
    // One that has seen no block before.
    const { fields } = new HpackDecoder({ maxBytes: 1000, maxFields: 10 }).decode(payload, 0, payload.length);
    expect(fields.map(({ name, value }) => [name, value])).toEqual([
      [":status", "200"],
      ["content-type", "text/x-repeated"],
    ]);
  }
});

it("sends all answers to what came in one read in one write", async () => {
  let writes = 0;
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      if (stream.id === 1) {
        const { socket } = session;
        const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
        const counted = (...args: unknown[]) => {
          writes++;
          return write(...args);
        };
        Object.assign(socket, { write: counted });
      }
      stream.respond({ ":status": 200 });
      stream.end(Buffer.from("answer"), { "x-trailer": "1" });
    });
  });
  const client = await RawClient.open(port);
  client.socket.cork();
  for (let id = 1; id < 20; id += 2) client.sendHeaders(id);
  client.socket.uncork();
  await client.receive(({ type, id, flags }) => type === FRAME.headers && id === 19 && (flags & FLAG.endStream) !== 0);
  expect(writes).toBe(1);
});

it("shares the connection's window among streams", async () => {
  const settings = Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(2 ** 20)]);
  const client = await RawClient.open(await startEcho(), settings);
  const data = Buffer.alloc(16_384, "x");
  for (const id of [1, 3]) {
    client.sendHeaders(id, undefined, 0);
    for (let piece = 0; piece < 4; piece++) client.sendData(id, data, piece === 3 ? FLAG.endStream : 0);
  }
  const bytesOf = async () => {
    const bytes: Record<number, number> = {};
    for (const { type, id, payload } of await client.settle()) {
      if (type === FRAME.data) bytes[id] = (bytes[id] ?? 0) + payload.length;
    }
    return bytes;
  };
  expect(await bytesOf()).toEqual({ 1: 65_535 });
  client.widen(0, 2 * 65_536);
  expect(await bytesOf()).toEqual({ 1: 1, 3: 65_536 });
});

it("keeps data of a stream that is paused, and grants no more of its window", async () => {
  let paused: Stream | undefined;
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      paused = stream;
    });
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1, undefined, 0);
  const data = Buffer.alloc(16_384, "x");
  for (let piece = 0; piece < 64; piece++) client.sendData(1, data);
  expect((await client.settle()).filter(({ type }) => type === FRAME.windowUpdate)).toEqual([]);
  expect(paused?.readableLength).toBe(2 ** 20);
  let taken = 0;
  paused?.receiveInto({
    take: (_, start, end) => {
      taken += end - start;
      if (taken === 32 * 16_384) paused?.pause();
    },
    end: () => {},
  });
  const granted = await client.receive(({ type }) => type === FRAME.windowUpdate);
  expect([granted.id, granted.payload.readUInt32BE(0), taken]).toEqual([1, 2 ** 19, 2 ** 19]);
  client.sendData(1, "x");
  client.sendData(1, Buffer.alloc(16_384));
  paused?.resume();
  await client.settle();
  expect(taken).toBe(2 ** 20 + 1 + 16_384);
});

it("gives data that waited as it came, in whatever pieces", async () => {
  let waiting: Stream | undefined;
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      waiting = stream;
    });
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1, undefined, 0);
  const sent = Buffer.from(Array.from({ length: 60_000 }, (_, index) => index % 251));
  let at = 0;
  for (let piece = 0; piece < 3300; piece++) {
    const bytes = Math.max(1, piece - 3000);
    client.sendData(1, sent.subarray(at, at + bytes));
    at += bytes;
  }
  client.sendData(1, sent.subarray(at), FLAG.endStream);
  await client.settle();
  const pieces: Buffer[] = [];
  await new Promise<void>((end) => {
    waiting?.receiveInto({ take: (bytes, from, to) => void pieces.push(Buffer.from(bytes.subarray(from, to))), end });
  });
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
  // An object for each of thousands of pieces would be more than the pieces.
  expect(pieces.length).toBeLessThan(50);
});

it("sends no frame for a piece without bytes, whatever the window is", async () => {
  let open: Stream | undefined;
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      open = stream;
      stream.respond({ ":status": 200 });
      stream.write(Buffer.from("0123456789"));
    });
  });
  const window = (bytes: number) => Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(bytes)]);
  const client = await RawClient.open(port, window(10));
  client.sendHeaders(1);
  await client.receive(({ type }) => type === FRAME.data);
  client.send(FRAME.settings, 0, 0, window(5));
  await client.settle();
  open?.write(Buffer.alloc(0));
  open?.write(Buffer.from("x"));
  open?.write(Buffer.alloc(0));
  open?.end(Buffer.alloc(0));
  expect(await client.settle()).toEqual([]);
  client.widen(1, 6);
  const { payload, flags } = await client.receive(({ type }) => type === FRAME.data);
  expect([payload.toString(), flags]).toEqual(["x", FLAG.endStream]);
});

it("ends a stream whose client sends more than its window, and the connection for more than that of all", async () => {
  const port = await startSessions((session) => void session.on("stream", () => {}), {
    ...LIMITS,
    streamWindowBytes: 65_535,
    connectionWindowBytes: 131_070,
    maxConnectionWindowBytes: 131_070,
  });
  const client = await RawClient.open(port);
  const data = Buffer.alloc(16_384);
  client.sendHeaders(1, undefined, 0);
  for (let piece = 0; piece < 4; piece++) client.sendData(1, data);
  expect(await client.resetOf(1)).toBe(ERROR.flowControl);
  // What nobody has read counts no longer for the connection.
  for (const id of [3, 5]) {
    client.sendHeaders(id, undefined, 0);
    for (let piece = 0; piece < 3; piece++) client.sendData(id, data);
  }
  await client.settle();
  client.sendHeaders(7, undefined, 0);
  for (let piece = 0; piece < 3; piece++) client.sendData(7, data);
  expect(await client.end()).toEqual({ code: ERROR.flowControl, reason: "more data than the window allows" });
});

it("lets data that waits on some streams not hold up the others, up to a limit", async () => {
  const port = await startSessions(
    (session) => void session.on("stream", (stream) => stream.id === 1 && echo(stream)),
    {
      ...LIMITS,
      connectionWindowBytes: 2 ** 20,
      maxConnectionWindowBytes: 2 ** 22,
    },
  );
  const client = await RawClient.open(port);
  let left = 2 ** 20;
  client.sendHeaders(1, undefined, 0);
  const data = Buffer.alloc(16_384);
  const granted = async () => {
    const updates = (await client.settle()).filter(({ type, id }) => type === FRAME.windowUpdate && id === 0);
    return updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
  };
  for (let id = 3; id <= 9; id += 2) {
    client.sendHeaders(id, undefined, 0);
    for (let piece = 0; piece < 60; piece++) client.sendData(id, data);
    left += (await granted()) - 60 * data.length;
  }
  // The rest of the largest window, but for what has come since it was granted.
  expect(left).toBe(2 ** 22 - 4 * 60 * data.length);
  // What is taken at once is granted at once.
  for (let round = 0; round < 40; round++) {
    client.sendData(1, data);
    left += (await granted()) - data.length;
    expect(left).toBeGreaterThan(0);
  }
});

it("is done with a stream that was reset only once the system has all that was sent of it", async () => {
  let open: Stream | undefined;
  const events: string[] = [];
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      open = stream;
      for (const event of ["aborted", "finish", "close"] as const) stream.once(event, () => void events.push(event));
      stream.respond({ ":status": 200 });
      for (let piece = 0; piece < 16; piece++) stream.write(Buffer.alloc(2 ** 20));
    });
  });
  const client = await RawClient.open(
    port,
    Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(MAX_WINDOW_BYTES)]),
  );
  client.widen(0, 2 ** 30);
  client.sendHeaders(1);
  await client.receive(({ type }) => type === FRAME.data);
  client.socket.pause();
  await expect.poll(() => open?.session.socket.writableLength ?? 0).toBeGreaterThan(2 ** 20);
  client.send(FRAME.reset, 0, 1, uint32s(ERROR.cancel));
  await expect.poll(() => events).toEqual(["aborted"]);
  expect(open).toMatchObject({ closed: true, destroyed: false });
  client.socket.resume();
  await expect.poll(() => events).toEqual(["aborted", "close"]);
});

it("grants the connection's window again for data that is discarded", async () => {
  const port = await startSessions(
    (session) =>
      session.on("stream", (stream) => {
        if (stream.id % 4 === 1) setImmediate(() => stream.reset(ERROR.cancel));
      }),
    { ...LIMITS, connectionWindowBytes: 65_535, maxConnectionWindowBytes: 65_535 },
  );
  const client = await RawClient.open(port);
  for (let id = 1; id < 400; id += 4) {
    client.sendHeaders(id, undefined, 0);
    client.sendData(id, Buffer.alloc(10_000));
    expect(await client.resetOf(id)).toBe(ERROR.cancel);
    // Late data of the same stream.
    client.sendData(id, Buffer.alloc(10_000), FLAG.endStream);
    await client.settle();
  }
});

it("says that an answer is over before its request, and ignores the rest", async () => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 404 }, true));
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1, undefined, 0);
  const headers = await client.receive(({ type }) => type === FRAME.headers);
  expect([client.decode(headers), headers.flags]).toEqual([{ ":status": "404" }, FLAG.endHeaders | FLAG.endStream]);
  await client.answerPing();
  expect(await client.resetOf(1)).toBe(ERROR.none);
  client.sendData(1, "late");
  client.sendHeaders(1, { "x-late": "1" });
  expect(await client.settle()).toEqual([]);
});

it("reports the end of a stream: once it was sent, or as aborted", async () => {
  const events: string[] = [];
  const port = await startSessions((session) => {
    session.on("close", () => events.push("connection"));
    session.on("stream", (stream) => {
      for (const event of ["aborted", "finish", "close"] as const) {
        stream.once(event, () => void events.push(`${stream.id} ${event} ${stream.rstCode}`));
      }
      if (stream.id === 1) stream.respond({ ":status": 200 }, true);
    });
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1);
  client.sendHeaders(3);
  client.sendHeaders(5);
  client.send(FRAME.reset, 0, 3, uint32s(ERROR.cancel));
  await client.settle();
  const eventsOf = (id: number) => events.filter((event) => event.startsWith(`${id} `));
  expect(eventsOf(1)).toEqual(["1 finish 0", "1 close 0"]);
  expect(eventsOf(3)).toEqual(["3 aborted 8", "3 close 8"]);
  client.socket.destroy();
  await expect.poll(() => events.slice(4)).toEqual(["5 aborted 8", "5 close 8", "connection"]);
});

it("ends a connection gently: calls that have begun are answered, and none are taken afterwards", async () => {
  const open: Stream[] = [];
  let server: ServerSession | undefined;
  const port = await startSessions((session) => {
    server = session;
    session.on("stream", (stream) => open.push(stream));
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1);
  await client.settle();
  server?.retire();
  expect((await client.receive()).payload.readUInt32BE(0)).toBe(MAX_WINDOW_BYTES);
  client.sendHeaders(3);
  await client.settle();
  server?.close();
  expect((await client.receive()).payload.readUInt32BE(0)).toBe(3);
  client.sendHeaders(5);
  await client.settle();
  expect(open.map(({ id }) => id)).toEqual([1, 3]);
  for (const stream of open) stream.respond({ ":status": 200 }, true);
  await client.receive(({ id }) => id === 3);
  await client.closed();
});

it("ends a connection after its last call when the client says that it leaves", async () => {
  const client = await RawClient.open(await startEcho());
  client.sendHeaders(1, undefined, 0);
  client.send(FRAME.goaway, 0, 0, uint32s(0, ERROR.none));
  client.sendData(1, "x", FLAG.endStream);
  await client.receive(({ type, id }) => type === FRAME.data && id === 1);
  const { payload } = await client.receive(({ type }) => type === FRAME.goaway);
  expect([payload.readUInt32BE(0), payload.readUInt32BE(4)]).toEqual([1, ERROR.none]);
  await client.closed();
});

it("tells a client of node:http2 that its call is over, however much that still has to send", async () => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 200 }, true));
  });
  const session = connect(port);
  const stream = session.request({ ":method": "POST" });
  stream.on("error", () => {}).resume();
  stream.end(Buffer.alloc(20 * 2 ** 20));
  await new Promise((resolve) => stream.once("close", resolve));
});

it("reads on what a client of node:http2 goes on sending, which that counts for as long as its connection lives", async () => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 413 }, true));
  });
  const session = connect(port);
  const refuse = () => {
    const stream = session.request({ ":method": "POST" });
    stream
      .on("error", () => {})
      .resume()
      .end(Buffer.alloc(2_000_000));
    return new Promise((resolve) => {
      let status: number | undefined;
      stream.once("response", (headers) => {
        status = headers[":status"];
      });
      stream.once("close", () => resolve(status ?? stream.rstCode));
    });
  };
  const statuses = new Set<unknown>();
  for (let request = 0; request < 40; request++) statuses.add(await refuse());
  expect(statuses).toEqual(new Set([413]));
});

it("resets an unfinished request only once its client has read the answer", async () => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 200 }, true));
  });
  const client = await RawClient.open(port);
  const isPing = ({ type, flags }: { type: number; flags: number }) => type === FRAME.ping && flags === 0;
  client.sendHeaders(1, REQUEST, 0);
  const first = await client.receive(isPing);
  // Its answer follows the first ping, which says nothing of it.
  client.sendHeaders(3, REQUEST, 0);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 3);
  client.send(FRAME.ping, FLAG.ack, 0, first.payload);
  const resets: number[] = [];
  const second = await client.receive((frame) => {
    if (frame.type === FRAME.reset) resets.push(frame.id);
    return isPing(frame);
  });
  expect(resets).toEqual([1]);
  client.send(FRAME.ping, FLAG.ack, 0, second.payload);
  expect(await client.resetOf(3)).toBe(0);
});

it("does not reset a request that its client has ended since the answer", async () => {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 200 }, true));
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1, REQUEST, 0);
  await client.receive(({ type, id }) => type === FRAME.headers && id === 1);
  client.sendHeaders(3, REQUEST, 0);
  client.sendData(1, "the rest", FLAG.endStream);
  await client.answerPing();
  const reset = await client.receive(({ type }) => type === FRAME.reset);
  expect(reset.id).toBe(3);
});

it("pings its client, and says when the connection ends before the answer", async () => {
  const results: (Error | null)[] = [];
  const port = await startSessions((session) => {
    session.once("acknowledged", () => {
      session.ping((error) => results.push(error));
      session.ping((error) => results.push(error));
    });
  });
  const client = await RawClient.open(port);
  const isPing = ({ type }: { type: number }) => type === FRAME.ping;
  const [ping, other] = [await client.receive(isPing), await client.receive(isPing)];
  // A client that does not read cannot know what to answer.
  for (let guess = 0; guess < 100; guess++) {
    if (guess !== other.payload.readUInt32BE(4)) client.send(FRAME.ping, FLAG.ack, 0, uint32s(0, guess));
  }
  await client.settle();
  expect(results).toEqual([]);
  client.send(FRAME.ping, FLAG.ack, 0, ping.payload);
  await client.settle();
  expect(results).toEqual([null]);
  client.socket.destroy();
  await expect.poll(() => results.length).toBe(2);
  expect(results[1]).toBeInstanceOf(Error);
});

it("refuses to send fields that HTTP/2 forbids", async () => {
  const errors: unknown[] = [];
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      for (const headers of [
        { "X-Upper": "a" },
        { "x-a": "b\r\nc: d" },
        { connection: "close" },
        { "x-b": ["", " "] },
        // Its lower byte is that of a line break.
        { "x-c": "\u010a" },
      ]) {
        try {
          stream.respond({ ":status": 200, ...headers });
        } catch (error) {
          errors.push(error);
        }
      }
      stream.respond({ ":status": 204 }, true);
    });
  });
  const client = await RawClient.open(port);
  client.sendHeaders(1);
  const answer = await client.receive(({ type }) => type === FRAME.headers);
  expect(client.decode(answer)).toEqual({ ":status": "204" });
  expect(errors).toHaveLength(5);
  for (const error of errors) expect(error).toBeInstanceOf(TypeError);
});
