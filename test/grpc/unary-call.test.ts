import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { MessageReader } from "../../src/grpc/message-reader.ts";
import { receiveMessage } from "../../src/grpc/unary-call.ts";
import { CancelSource } from "../../src/platform/async/cancel-source.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { MemoryPool } from "../../src/platform/limits/memory/memory-pool.ts";
import { PREDICT_JSON_PATH } from "../../src/protocols/kibernetika/grpc-service.ts";
import { bytesField, encodeMessage } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { openStream } from "./open-stream.ts";
import { Random } from "./random.ts";
import { echo, type Script, ScriptedService, serve } from "./scripted-service.ts";

/** Calls that say nothing of compression, and those that say that their messages may be compressed. */
const WAYS = { "a plain call": {}, "a call with an encoding": { "grpc-encoding": "gzip" } };
type Way = keyof typeof WAYS;
const BOTH = Object.keys(WAYS) as Way[];

/** An answer as a client sees it. */
interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

async function call(script: Script, way: Way, { text = "{}", ...headers }: Record<string, string> = {}): Promise<Seen> {
  const service = new ScriptedService(script);
  const { address } = await serve(service);
  const session = connectHttp2(`http://${address}`);
  onTestFinished(() => session.destroy());
  const call = { ":method": "POST", ":path": PREDICT_JSON_PATH, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ...call, ...WAYS[way], ...headers });
  const message = encodeMessage([bytesField(1, Buffer.from(text))]);
  const prefix = Buffer.of(0, 0, 0, 0, 0);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  return seen(stream);
}

function seen(stream: ReturnType<ReturnType<typeof connectHttp2>["request"]>): Promise<Seen> {
  const chunks: Buffer[] = [];
  let [headers, trailers]: IncomingHttpHeaders[] = [{}, {}];
  stream.on("response", (received) => {
    headers = received;
  });
  stream.on("trailers", (received) => {
    trailers = received;
  });
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    stream.on("end", () => resolve({ headers: headers ?? {}, trailers: trailers ?? {}, bytes: Buffer.concat(chunks) }));
  });
}

describe.each(BOTH)("an answer over %s", (way) => {
  it.each([2, 16_000, 17_000, 300_000])("of %i bytes comes whole, and says that all is well", async (length) => {
    const text = JSON.stringify("x".repeat(length));
    const { headers, trailers, bytes } = await call(echo, way, { text });
    expect(headers).toMatchObject({ ":status": 200, "content-type": "application/grpc+proto" });
    expect(trailers["grpc-status"]).toBe("0");
    expect(bytes.readUInt32BE(1)).toBe(bytes.length - 5);
    expect(bytes[0]).toBe(0);
    expect(bytes.subarray(-text.length).toString()).toBe(text);
  });

  it("takes metadata of hooks, but for what belongs to the call", async () => {
    const script: Script = (request) => ({ ...echo(request), metadata: { "x-a": "1", "grpc-status": "9", te: "x" } });
    const { headers, trailers } = await call(script, way);
    expect(headers).toMatchObject({ "x-a": "1" });
    expect(headers).not.toHaveProperty("te");
    expect(trailers["grpc-status"]).toBe("0");
  });

  it("that is an error has no message, and its text survives any letter", async () => {
    const text = '100 % ü €😀 "x"\nline';
    const script: Script = () => {
      throw new ServingError("aborted", text);
    };
    const { headers, trailers, bytes } = await call(script, way);
    const said = { ...headers, ...trailers };
    expect([said["grpc-status"], decodeURI(String(said["grpc-message"]))]).toEqual([String(status.ABORTED), text]);
    expect(bytes).toHaveLength(0);
  });

  it("to a client that waits in vain comes at its deadline", async () => {
    const { headers, trailers } = await call(() => new Promise(() => {}), way, { "grpc-timeout": "20m" });
    expect({ ...headers, ...trailers }["grpc-status"]).toBe(String(status.DEADLINE_EXCEEDED));
  });

  it("to a timeout that is none says so", async () => {
    const { headers, trailers } = await call(echo, way, { "grpc-timeout": "soon" });
    const said = { ...headers, ...trailers };
    expect(said["grpc-status"]).toBe(String(status.INTERNAL));
    expect(decodeURI(String(said["grpc-message"]))).toBe('Invalid grpc-timeout value "soon"');
  });
});

const MESSAGE = Buffer.from(new Random(1).bytes(200_000));
const PREFIX = Buffer.of(0, 0, 3, 13, 64);

function readerOf(maxBytes: number): MessageReader {
  return new MessageReader({ maxBytes, memory: new MemoryBudget(1e9).open(), pool: new MemoryPool() });
}

describe("a stream", () => {
  async function open(maxBytes = 1_000_000) {
    const { stream, request } = await openStream();
    const reader = readerOf(maxBytes);
    const source = new CancelSource();
    const received = receiveMessage(stream, reader, source);
    received.catch(() => {});
    return { request, received, source };
  }

  it("brings its message whole", async () => {
    const { request, received } = await open();
    request.write(Buffer.concat([PREFIX, MESSAGE.subarray(0, 70_000)]));
    request.end(MESSAGE.subarray(70_000));
    expect(MESSAGE.compare(await received)).toBe(0);
  });

  it("brings no message that is too large, and is read to its end all the same", async () => {
    const { request, received } = await open(100_000);
    request.end(Buffer.concat([PREFIX, MESSAGE]));
    await expect(received).rejects.toMatchObject({ code: "resource_exhausted" });
  });

  it("brings none once the call is over", async () => {
    const { request, received, source } = await open();
    request.write(Buffer.concat([PREFIX, MESSAGE.subarray(0, 100)]));
    source.abort("over");
    request.end(MESSAGE.subarray(100));
    await expect(received).rejects.toBe("over");
  });
});

describe("a stream of a call that waited for its turn", () => {
  it("brings the message that came meanwhile", async () => {
    const { stream, request } = await openStream();
    request.write(Buffer.concat([PREFIX, MESSAGE.subarray(0, 10_000)]));
    await expect.poll(() => stream.readableLength).toBe(10_005);
    const received = receiveMessage(stream, readerOf(1_000_000), new CancelSource());
    request.end(MESSAGE.subarray(10_000));
    expect(MESSAGE.compare(await received)).toBe(0);
  });

  it("brings none if it has ended without one", async () => {
    const { stream, request } = await openStream();
    request.end();
    await expect.poll(() => stream.isRemoteEnded).toBe(true);
    const received = receiveMessage(stream, readerOf(1000), new CancelSource());
    await expect(received).rejects.toMatchObject({ code: "unimplemented" });
  });
});
