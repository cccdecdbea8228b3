import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { PREDICT_JSON_PATH } from "../../src/protocols/kibernetika/grpc-service.ts";
import { bytesField, encodeMessage } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { startKserving } from "../cli/start-kserving.ts";
import { startServer } from "../helpers/start-server.ts";
import { RawClient } from "../proxy/raw-client.ts";
import { connect } from "./byte-client.ts";
import { floodFrames } from "./flood-frames.ts";
import { type GrpcOptions, ScriptedService, serve } from "./scripted-service.ts";

const TEXT = `{"a":"${"x".repeat(200_000)}"}`;
const MESSAGE = encodeMessage([bytesField(1, Buffer.from(TEXT))]);

/** A message with the header that gRPC puts before it. */
function framed(message: Uint8Array, { compressed = 0, claim = message.length } = {}): Buffer {
  const header = Buffer.of(compressed, 0, 0, 0, 0);
  header.writeUInt32BE(claim, 1);
  return Buffer.concat([header, message]);
}

/** The call says how its messages are compressed; each message says whether it is. */
const MAY_COMPRESS = { "grpc-encoding": "gzip" };

/** A call made without a gRPC library; `answer` resolves with its status and message. */
function call(address: string, headers: Record<string, string> = MAY_COMPRESS, path = PREDICT_JSON_PATH) {
  const session = connectHttp2(`http://${address}`);
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const kind = { "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ":method": "POST", ":path": path, ...kind, ...headers });
  stream.on("error", () => {});
  stream.resume();
  const answer = new Promise<{ code: number; message: string }>((resolve) => {
    const look = (received: Record<string, unknown>) => {
      const code = received["grpc-status"];
      if (code !== undefined) resolve({ code: Number(code), message: decodeURI(String(received["grpc-message"])) });
    };
    stream.on("response", look);
    stream.on("trailers", look);
  });
  return { stream, answer };
}

async function start(options: GrpcOptions = {}) {
  const service = new ScriptedService();
  const { address } = await serve(service, options);
  const received = () => {
    const inputs = service.requests.at(-1)?.inputs;
    return inputs?.kind === "json" && Buffer.from(inputs.json).toString();
  };
  return { address, service, received };
}

describe("a message", () => {
  it.each([1, 2, 4, 5, 6, 1000, 16_389])("is read in pieces of %i bytes", async (size) => {
    const { address, received } = await start();
    const { stream, answer } = call(address);
    const bytes = framed(size < 10 ? encodeMessage([bytesField(1, Buffer.from('{"a":1}'))]) : MESSAGE);
    for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
    stream.end();
    expect(await answer).toMatchObject({ code: status.OK });
    expect(received()).toBe(size < 10 ? '{"a":1}' : TEXT);
  });

  it.each([
    ["gzip", gzipSync],
    ["deflate", deflateSync],
  ])("is inflated where it says that it is %s", async (encoding, compress) => {
    const { address, received } = await start();
    const { stream, answer } = call(address, { "grpc-encoding": encoding });
    stream.end(framed(compress(MESSAGE), { compressed: 1 }));
    expect(await answer).toMatchObject({ code: status.OK });
    expect(received()).toBe(TEXT);
  });

  it.each([
    ["gzip", gunzipSync],
    ["deflate", inflateSync],
  ])("is answered with %s where it came so and its client accepts that", async (encoding, decompress) => {
    const { address } = await start();
    const { stream } = call(address, { "grpc-encoding": encoding, "grpc-accept-encoding": `identity, ${encoding}` });
    const pieces: Buffer[] = [];
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.end(framed(MESSAGE));
    const [headers] = await once(stream, "response");
    await once(stream, "end");
    const bytes = Buffer.concat(pieces);
    expect([headers["grpc-encoding"], bytes[0], bytes.readUInt32BE(1)]).toEqual([encoding, 1, bytes.length - 5]);
    expect(decompress(bytes.subarray(5)).toString()).toContain(TEXT);
  });

  it("is left alone where it says that it is not compressed, whatever its call says", async () => {
    const { address, received } = await start();
    const { stream, answer } = call(address);
    stream.end(framed(MESSAGE));
    expect(await answer).toMatchObject({ code: status.OK });
    expect(received()).toBe(TEXT);
  });

  it.each([
    ["larger than the limit once it is inflated", "gzip", gzipSync(Buffer.alloc(300_000)), status.RESOURCE_EXHAUSTED],
    ["no gzip", "gzip", Buffer.from("no gzip"), status.INVALID_ARGUMENT],
    ["of an encoding that is not known", "snappy", Buffer.from("x"), status.UNIMPLEMENTED],
  ])("that is %s is refused", async (_, encoding, bytes, code) => {
    const { address, service } = await start({ maxMessageBytes: 250_000 });
    const { stream, answer } = call(address, { "grpc-encoding": encoding });
    stream.end(framed(bytes, { compressed: 1 }));
    expect(await answer).toMatchObject({ code });
    expect(service.requests).toEqual([]);
  });

  it("of gRPC's own services may have 64 KB and no more", async () => {
    const { address } = await start();
    for (const [claim, code] of [
      [65_536, status.OK],
      [65_537, status.RESOURCE_EXHAUSTED],
    ] as const) {
      const { stream, answer } = call(address, {}, "/grpc.health.v1.Health/Check");
      // An unknown field.
      stream.end(framed(Buffer.concat([Buffer.of(0x7a, 0xfc, 0xff, 0x03), Buffer.alloc(65_532)]), { claim }));
      expect(await answer).toMatchObject({ code });
    }
  });

  it.each(["gzip", "identity"])(
    "in frames of one byte ends the connection, which is told why (%s)",
    async (encoding) => {
      const flags = ["--driver", "null", "--host", "127.0.0.1", "--port", "0"];
      const { grpc } = await startKserving(flags).event("ready");
      const port = Number(String(grpc).split(":").at(-1));
      const client = new RawClient(port);
      client.socket.on("error", () => {});
      const told = client.received(/too_many_small_frames/);
      for (const frames of floodFrames(PREDICT_JSON_PATH, { messageBytes: 3000, encoding }))
        client.socket.write(frames);
      await told;
      await connect(`127.0.0.1:${port}`).call(PREDICT_JSON_PATH, MESSAGE);
    },
  );
});

describe.each([
  { way: "a plain call", headers: {} },
  { way: "a call with an encoding", headers: MAY_COMPRESS },
])("a message that goes on and on over $way", ({ headers }) => {
  it.each(["before it is whole", "after that, where the call does not end"])(
    "is given up in time: %s",
    async (when) => {
      const memory = new MemoryBudget(4 * MESSAGE.length);
      const { address } = await start({ memory, messageTimeoutMs: 50 });
      const { stream, answer } = call(address, headers);
      stream.write(framed(MESSAGE).subarray(0, when === "before it is whole" ? 1000 : undefined));
      expect(await answer).toEqual({
        code: status.DEADLINE_EXCEEDED,
        message: "The message has not come whole within 50 ms; send it faster.",
      });
      const other = memory.open();
      other.grow(1);
      expect(() => other.check(4 * MESSAGE.length - 1)).not.toThrow();
    },
  );
});

describe("the memory of all requests", () => {
  it("is counted while messages arrive, and beyond it the next ones are refused at once", async () => {
    const memory = new MemoryBudget(1000);
    const { address } = await start({ memory });
    const held = call(address);
    held.stream.write(framed(Buffer.alloc(900), { claim: 901 }));
    await expect.poll(() => isFull(memory, 200)).toBe(true);
    const other = call(address);
    other.stream.write(framed(Buffer.alloc(200), { claim: 201 }));
    expect(await other.answer).toMatchObject({
      code: status.UNAVAILABLE,
      message: expect.stringMatching(/hold 905 bytes \(--max-queue-bytes 1000\)/),
    });
    held.stream.destroy();
    await expect.poll(() => isFull(memory, 200)).toBe(false);
  });

  it("is free again after every way that a call can end", async () => {
    const memory = new MemoryBudget(10_000_000);
    const { address } = await start({ memory, maxMessageBytes: 250_000 });
    const end = async (bytes: Buffer, headers?: Record<string, string>) => {
      const { stream, answer } = call(address, headers);
      stream.end(bytes);
      return (await answer).code;
    };
    expect(await end(framed(MESSAGE))).toBe(status.OK);
    expect(await end(framed(gzipSync(MESSAGE), { compressed: 1 }))).toBe(status.OK);
    expect(await end(framed(Buffer.from("malformed")))).toBe(status.INVALID_ARGUMENT);
    expect(await end(framed(Buffer.alloc(10), { claim: 250_001 }))).toBe(status.RESOURCE_EXHAUSTED);
    expect(await end(framed(Buffer.alloc(10), { claim: 20 }))).toBe(status.UNIMPLEMENTED);
    await expect.poll(() => isFull(memory, 10_000_000)).toBe(false);
  });

  it("is one for both wires", async () => {
    const { grpcAddress, httpUrl } = await startServer({ stages: [{ driver: "null" }], maxQueueBytes: 1000 });
    const calls = [call(grpcAddress), call(grpcAddress)];
    for (const { stream } of calls) stream.write(framed(Buffer.alloc(900), { claim: 901 }));
    // The later one is refused, once the server holds the other.
    expect(await Promise.race(calls.map(({ answer }) => answer))).toMatchObject({ code: status.UNAVAILABLE });
    const body = `{"a":"${"x".repeat(200)}"}`;
    const post = () => fetch(`${httpUrl}/serving-proxy`, { method: "POST", body });
    const refused = await post();
    expect([refused.status, refused.headers.get("retry-after"), await refused.text()]).toEqual([
      503,
      "1",
      expect.stringContaining("905 bytes"),
    ]);
    for (const { stream } of calls) stream.destroy();
    await expect.poll(async () => (await post()).status).toBe(200);
  });
});

/** Checks that a second request could not have `bytes` now. */
function isFull(memory: MemoryBudget, bytes: number): boolean {
  return !memory.hasRoom(bytes, -1);
}
