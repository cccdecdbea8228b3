import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { describe, expect, it, onTestFinished } from "vitest";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import { defineHooks } from "../../src/hooks/hooks.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { PREDICT_JSON_PATH } from "../../src/protocols/kibernetika/grpc-service.ts";
import type { LocalService } from "../../src/serving/local-service.ts";
import { bytesField, encodeMessage } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { hasRoom } from "../platform/limits/memory/has-room.ts";
import { type GrpcOptions, ScriptedService, serve } from "./scripted-service.ts";
import { startNullServer } from "./start-null-server.ts";

const STREAM_PATH = "/inference.GRPCInferenceService/ModelStreamInfer";
const ANSWER_BYTES = 1_000_000;
const MAX_BYTES = 3 * ANSWER_BYTES;

const WAYS = [
  { way: "a plain call", headers: {} },
  { way: "a call with an encoding", headers: { "grpc-encoding": "gzip" } },
];

/** A server whose answers have a megabyte, and a client that takes nothing of them until it is told to. */
async function start(options: GrpcOptions = {}) {
  const json = Buffer.from(JSON.stringify("x".repeat(ANSWER_BYTES)));
  const answer = { model: "m", version: 1n, signature: "s", metadata: {}, outputs: { kind: "json", json } as const };
  const memory = new MemoryBudget(MAX_BYTES);
  const { address } = await serve(new ScriptedService(() => answer), { memory, ...options });
  return { memory, ...openUnread(address) };
}

function openUnread(address: string) {
  const session = connect(`http://${address}`, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const call = (message: Buffer, { path = PREDICT_JSON_PATH, ...headers }: Record<string, string> = {}) => {
    const fixed = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
    const stream = session.request({ ...fixed, ":path": path, ...headers });
    stream.on("error", () => {});
    stream.end(message);
    return stream;
  };
  return { session, call };
}

const QUESTION = Buffer.concat(frameBytes(encodeMessage([bytesField(1, Buffer.from("{}"))])));

async function statusOf(stream: ClientHttp2Stream): Promise<unknown> {
  const [headers] = await once(stream, "response");
  return headers["grpc-status"];
}

describe.each(WAYS)("an answer over $way that is not taken", ({ headers }) => {
  it("is counted until it has been sent, and others that need room are refused", async () => {
    const { memory, session, call } = await start();
    const held = [call(QUESTION, headers), call(QUESTION, headers)];
    for (const stream of held) expect(await statusOf(stream)).toBeUndefined();
    expect(hasRoom(memory, ANSWER_BYTES)).toBe(false);
    expect(await statusOf(call(QUESTION, headers)).then(Number)).toBe(14);
    session.settings({ initialWindowSize: 2 * ANSWER_BYTES });
    for (const stream of held) await once(stream.resume(), "close");
    await expect.poll(() => hasRoom(memory, MAX_BYTES - 1)).toBe(true);
  });

  it("is given up when its client leaves", async () => {
    const { memory, session, call } = await start();
    for (const stream of [call(QUESTION, headers), call(QUESTION, headers)]) await statusOf(stream);
    session.destroy();
    await expect.poll(() => hasRoom(memory, MAX_BYTES - 1)).toBe(true);
  });

  it("is cut after a time, and the connection goes on", async () => {
    const { memory, session, call } = await start({ sendTimeoutMs: 50 });
    const stream = call(QUESTION, headers);
    await once(stream, "close");
    expect(stream.rstCode).toBe(8);
    await expect.poll(() => hasRoom(memory, MAX_BYTES - 1)).toBe(true);
    await new Promise((resolve) => session.ping(resolve));
  });
});

it("the answers of a stream that are not taken are counted until they have been sent, and what has no room is refused alone", async () => {
  const text = (value: string) => Buffer.from(value);
  const input = encodeMessage([bytesField(1, text("x")), bytesField(2, text("UINT8")), bytesField(3, Buffer.of(1))]);
  const message = encodeMessage([
    bytesField(1, text("default")),
    bytesField(5, Buffer.from(input)),
    bytesField(7, Buffer.of(1)),
  ]);
  const hooks = defineHooks({ postprocess: () => ({ x: new Uint8Array(ANSWER_BYTES) }) });
  const { grpcAddress, service } = await startNullServer({ hooks, maxQueueBytes: MAX_BYTES, sendTimeoutMs: 0 });
  const { memory } = service as LocalService;
  const { session, call } = openUnread(grpcAddress);
  const framed = Buffer.concat(frameBytes(Buffer.from(message)));
  const stream = call(Buffer.concat([framed, framed, framed, framed]), { path: STREAM_PATH });
  await expect.poll(() => hasRoom(memory, ANSWER_BYTES)).toBe(false);
  session.settings({ initialWindowSize: 2 ** 24 });
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  const answers = Buffer.concat(pieces);
  expect(answers.length).toBeGreaterThan(2 * ANSWER_BYTES);
  expect(answers.includes("--max-queue-bytes")).toBe(true);
  await expect.poll(() => hasRoom(memory, MAX_BYTES - 1)).toBe(true);
});
