import { describe, expect, it } from "vitest";
import { makeFrame, uint32s } from "../../src/http2/frame-output.ts";
import { ERROR, FLAG, FRAME, MAX_WINDOW_BYTES, SETTING } from "../../src/http2/protocol.ts";
import type { ServerStream } from "../../src/http2/server-session.ts";
import { TRANSPORT_LIMITS } from "../../src/platform/limits/transport-limits.ts";
import { LIMITS, RawClient, REQUEST, startSessions } from "./raw-client.ts";
import type { ReceivedFrame } from "./received-frames.ts";

const MEGABYTE = 2 ** 20;
const FRAME_OF_DATA = Buffer.alloc(16_384);
/** More than one request's part of the allowance if three share it. */
const REST_BYTES = 6 * MEGABYTE;

/** A client of a server that answers each request before it has come whole. */
async function connectEarly(): Promise<RawClient> {
  const port = await startSessions((session) => {
    session.on("stream", (stream) => stream.respond({ ":status": 404 }, true));
  });
  return RawClient.open(port);
}

async function beginAnswered(client: RawClient, id: number, headers = REQUEST): Promise<void> {
  client.sendHeaders(id, headers, 0);
  await client.receive((frame) => frame.type === FRAME.headers && frame.id === id);
}

/** Sends a megabyte after the other, whatever the windows say; gives what the server says of the stream. */
async function sendRest(client: RawClient, id: number, bytes = REST_BYTES): Promise<ReceivedFrame[]> {
  const frames: ReceivedFrame[] = [];
  for (let at = 0; at < bytes; at += FRAME_OF_DATA.length) {
    client.sendData(id, FRAME_OF_DATA);
    if (at % MEGABYTE === 0) frames.push(...(await client.settle()));
  }
  frames.push(...(await client.settle()));
  return frames.filter((frame) => frame.id === id);
}

function grantedBytes(frames: readonly ReceivedFrame[]): number {
  const grants = frames.filter(({ type }) => type === FRAME.windowUpdate);
  return grants.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
}

function resetsIn(frames: readonly ReceivedFrame[]): number[] {
  return frames.filter(({ type }) => type === FRAME.reset).map(({ payload }) => payload.readUInt32BE(0));
}

describe("the window of a request that was answered early", () => {
  it("still counts, and its stream is reset if it becomes too large", async () => {
    const client = await connectEarly();
    await beginAnswered(client, 1);
    client.widen(1, MAX_WINDOW_BYTES - 65_535);
    expect((await client.settle()).filter(({ id }) => id === 1)).toEqual([]);
    client.widen(1, 1);
    expect(await client.resetOf(1)).toBe(ERROR.flowControl);
    // What may have been on its way.
    client.widen(1, 1);
    expect((await client.settle()).filter(({ id }) => id === 1)).toEqual([]);
  });

  it("still counts when the client's settings change it", async () => {
    const client = await connectEarly();
    await beginAnswered(client, 1);
    client.widen(1, MAX_WINDOW_BYTES - 65_535);
    client.send(FRAME.settings, 0, 0, Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(65_536)]));
    expect((await client.end()).code).toBe(ERROR.flowControl);
  });

  it("does not count once the client has ended it", async () => {
    const client = await connectEarly();
    for (const [id, end] of [
      [1, () => client.sendData(1, "x", FLAG.endStream)],
      [3, () => client.sendHeaders(3, { "x-a": "b" })],
      [5, () => client.send(FRAME.reset, 0, 5, uint32s(ERROR.cancel))],
    ] as const) {
      await beginAnswered(client, id);
      end();
      client.widen(id, MAX_WINDOW_BYTES);
      expect((await client.settle()).filter((frame) => frame.id === id)).toEqual([]);
    }
  });
});

it.each([
  ["more at once is reset", [4], [ERROR.protocol]],
  ["more with the last of its data is reset", [1, 2, 1], [ERROR.protocol]],
  ["as much is not", [1, 2], []],
  ["less, once its client knows the answer, is not", [1, 1], []],
])("a request of three bytes that was answered early and sends %s", async (_, sizes, codes) => {
  const client = await connectEarly();
  await beginAnswered(client, 1, { ...REQUEST, "content-length": "3" });
  for (const [index, size] of sizes.entries())
    client.sendData(1, Buffer.alloc(size), index === sizes.length - 1 ? FLAG.endStream : 0);
  expect(resetsIn((await client.settle()).filter(({ id }) => id === 1))).toEqual(codes);
});

it("all requests of a connection that were answered early share 16 MB, and one that takes more is reset", async () => {
  const client = await connectEarly();
  for (const id of [1, 3, 5]) await beginAnswered(client, id);
  const frames = [...(await sendRest(client, 1)), ...(await sendRest(client, 3))];
  expect(resetsIn(frames)).toEqual([]);
  const last = await sendRest(client, 5);
  expect(resetsIn(last)).toEqual([ERROR.flowControl]);
  const granted = grantedBytes([...frames, ...last]);
  expect(granted).toBe(TRANSPORT_LIMITS.lateBytes);
  expect(granted).toBeLessThanOrEqual(LIMITS.maxConnectionWindowBytes);
});

it("what a request was granted goes back once it is over, whoever ends it", async () => {
  const client = await connectEarly();
  const ends = [
    (id: number) => client.sendData(id, "x", FLAG.endStream),
    (id: number) => client.sendHeaders(id, { "x-a": "b" }),
    (id: number) => client.send(FRAME.reset, 0, id, uint32s(ERROR.cancel)),
    (id: number) => client.widen(id, MAX_WINDOW_BYTES),
  ];
  for (const [index, end] of [...ends, ...ends].entries()) {
    const id = 2 * index + 1;
    await beginAnswered(client, id);
    expect(resetsIn(await sendRest(client, id))).toEqual([]);
    end(id);
  }
});

/** Sends data until the system takes no more, since the client does not read. */
async function fillSocket(stream: ServerStream): Promise<void> {
  stream.respond({ ":status": 200 });
  while (stream.session.socket.writableLength === 0) {
    stream.write(Buffer.alloc(65_536));
    await new Promise(setImmediate);
  }
}

it("a request whose last frame comes half before its answer and half behind it is not reset", async () => {
  const streams: ServerStream[] = [];
  const port = await startSessions((session) => {
    session.on("stream", (stream) => {
      streams.push(stream);
      if (stream.id > 1) stream.receiveInto({ take: () => stream.respond({ ":status": 404 }, true), end: () => {} });
    });
  });
  const client = await RawClient.open(port, Buffer.concat([Buffer.of(0, SETTING.initialWindowSize), uint32s(2 ** 30)]));
  client.widen(0, 2 ** 30);
  client.sendHeaders(1);
  await expect.poll(() => streams.length).toBe(1);
  client.socket.pause();
  await fillSocket(streams[0]!);
  client.sendHeaders(3, REQUEST, 0);
  const last = makeFrame(FRAME.data, FLAG.endStream, 3, FRAME_OF_DATA);
  client.sendRaw(last.subarray(0, 1000));
  await expect.poll(() => streams[1]?.closed).toBe(true);
  expect(streams[1]?.destroyed).toBe(false);
  client.sendRaw(last.subarray(1000));
  client.sendHeaders(5, REQUEST, 0);
  client.sendData(5, "x");
  client.socket.resume();
  const resets: number[] = [];
  await client.receive(({ type, id, payload }) => {
    if (type === FRAME.ping) client.send(FRAME.ping, FLAG.ack, 0, payload);
    return type === FRAME.reset && resets.push(id) > 0 && id === 5;
  });
  expect(resets).toEqual([5]);
});
