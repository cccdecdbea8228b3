import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { decodeInferResponse } from "../../src/client/remote/infer-message.ts";
import { makeFrame } from "../../src/http2/frame-output.ts";
import { ERROR, FLAG, FRAME, PREFACE, SETTING } from "../../src/http2/protocol.ts";
import { toBlock } from "../../test/grpc/flood-frames.ts";
import { partsRequest } from "../stream/messages.ts";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { frame, METHODS, openSession, openStream } from "./grpc-attack.ts";
import { headers, setting, update } from "./hostile-frames.ts";
import { headOf, openSocket } from "./http-attack.ts";

/** Models of the attacked server: bench/stream-hooks.ts in a thread, and in the main thread. */
const MODELS = ["parts", "inline-parts"] as const;
type Model = (typeof MODELS)[number];

const STREAMS = 1000;
/** Below the number of calls of one connection. */
const PER_CONNECTION = 250;
const ENDLESS = 1_000_000_000;
/** Of a message of gRPC. */
const PREFIX_BYTES = 5;
const SMALL = 16;
const LARGE = 262_144;
const HOLD_MS = 4000;
const SIPS = 5;
const SIP_MS = 1000;
/** Above the time that a generator has to end once it was left. */
const LEFT_WITHIN_MS = 5000;

/** Answers in parts whose clients do not take them; no generator may be left afterwards. */
export const STREAM_ROWS: readonly AttackRow[] = MODELS.flatMap((model) => [
  row(`${model}-unread-grpc`, model, (target) => unreadGrpc(target, partsRequest(model, ENDLESS), STREAMS)),
  row(`${model}-unread-grpc-large`, model, (target) => unreadGrpc(target, partsRequest(model, ENDLESS, LARGE), 200)),
  row(`${model}-unread-sse`, model, (target) => sse(target, model, SMALL, 0)),
  row(`${model}-unread-sse-large`, model, (target) => sse(target, model, LARGE, 0)),
  row(`${model}-sipped-grpc`, model, (target) => sippedGrpc(target, partsRequest(model, ENDLESS))),
  row(`${model}-sipped-sse`, model, (target) => sse(target, model, SMALL, 1)),
  row(`${model}-reset-storm`, model, (target) => leave(target, partsRequest(model, ENDLESS), resetAtOnce)),
  row(`${model}-left`, model, (target) => leave(target, partsRequest(model, ENDLESS), leaveAfterFirst)),
]);

function row(name: string, model: Model, attack: (target: Target) => Promise<string>): AttackRow {
  return {
    name: `stream-${name}`,
    server: "streams",
    prepare: () => async (target) => judge(target, model, await attack(target)),
  };
}

/** Counts the generators that are left, and so shows that the model still answers. */
async function judge(target: Target, model: Model, got: string): Promise<AttackResult> {
  let left = Number.NaN;
  for (let waited = 0; left !== 0 && waited < LEFT_WITHIN_MS; waited += 200) {
    left = await generatorsOf(target, model);
    if (left !== 0) await wait(200);
  }
  return left === 0 ? { got } : { got, problem: `${left} generators are left` };
}

/** NaN while the model does not answer. */
async function generatorsOf(target: Target, model: Model): Promise<number> {
  const session = await openSession(target);
  const stream = openStream(session, { path: METHODS.infer });
  const bytes: Buffer[] = [];
  stream.on("error", () => {}).on("data", (chunk: Buffer) => bytes.push(chunk));
  stream.end(frame(partsRequest(model, -1)));
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
  const message = Buffer.concat(bytes).subarray(PREFIX_BYTES);
  return message.length === 0 ? Number.NaN : Number(decodeInferResponse(message).outputs.y?.data[0]);
}

/** Streams on connections that take nothing. */
async function unreadGrpc(target: Target, message: Buffer, count: number): Promise<string> {
  const sessions = await open(target, count, 0);
  const streams = Array.from({ length: count }, (_, index) => {
    const stream = openStream(sessions[index % sessions.length] as (typeof sessions)[number], { path: METHODS.stream });
    stream.on("error", () => {});
    stream.end(frame(message));
    return stream;
  });
  await wait(HOLD_MS);
  const got = tally(streams.map(({ destroyed }) => (destroyed ? "ended" : "open")));
  for (const session of sessions) session.destroy();
  return got;
}

function open(target: Target, count: number, windowBytes?: number) {
  const connections = Math.ceil(count / PER_CONNECTION);
  return Promise.all(Array.from({ length: connections }, () => openSession(target, windowBytes)));
}

/** Events of which each client takes so many bytes a second. */
async function sse(target: Target, model: Model, floats: number, sipBytes: number): Promise<string> {
  const inputs = [{ name: "x", datatype: "INT32", shape: [3], data: [ENDLESS, floats, 0] }];
  const body = JSON.stringify({ inputs });
  const sockets: Socket[] = [];
  for (let count = 0; count < 200; count++) {
    const socket = openSocket(target.http);
    socket.on("error", () => {}).pause();
    socket.write(headOf(`/v2/models/${model}/infer_stream`, body.length) + body);
    sockets.push(socket);
  }
  for (let sip = 0; sip < SIPS; sip++) {
    await wait(SIP_MS);
    if (sipBytes > 0) for (const socket of sockets) socket.read(sipBytes);
  }
  const got = tally(sockets.map(({ destroyed }) => (destroyed ? "ended" : "open")));
  for (const socket of sockets) socket.destroy();
  return got;
}

/** Streams whose windows have one byte, and get one more each second. */
async function sippedGrpc({ grpc }: Target, message: Buffer): Promise<string> {
  const socket = openSocket(grpc);
  const ids = Array.from({ length: 200 }, (_, index) => 2 * index + 1);
  const block = toBlock(METHODS.stream);
  const data = frame(message);
  const calls = ids.flatMap((id) => [
    headers(id, [block], FLAG.endHeaders),
    makeFrame(FRAME.data, FLAG.endStream, id, data),
  ]);
  let bytes = 0;
  socket
    .on("error", () => {})
    .on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
  const settings = makeFrame(FRAME.settings, 0, 0, setting(SETTING.initialWindowSize, 1));
  socket.write(Buffer.concat([PREFACE, settings, ...calls]));
  for (let sip = 0; sip < SIPS; sip++) {
    await wait(SIP_MS);
    socket.write(Buffer.concat(ids.map((id) => update(id, 1))));
  }
  const got = `${socket.destroyed ? "ended" : "open"} after ${bytes} bytes`;
  socket.destroy();
  return got;
}

type Leave = (streams: readonly ReturnType<typeof openStream>[]) => Promise<void>;

/** Endless answers, again and again, whose clients leave at the same time. */
async function leave(target: Target, message: Buffer, away: Leave): Promise<string> {
  const ends: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const sessions = await open(target, STREAMS);
    const streams = Array.from({ length: STREAMS }, (_, index) => {
      const stream = openStream(sessions[index % sessions.length] as (typeof sessions)[number], {
        path: METHODS.stream,
      });
      stream.on("error", () => {});
      stream.write(frame(message));
      return stream;
    });
    await away(streams);
    ends.push(...sessions.map(({ destroyed, closed }) => (destroyed || closed ? "connection ended" : "left")));
    for (const session of sessions) session.destroy();
  }
  return tally(ends);
}

/** Once all have been sent. */
async function resetAtOnce(streams: Parameters<Leave>[0]): Promise<void> {
  await wait(500);
  for (const stream of streams) stream.close(ERROR.cancel);
  await wait(500);
}

/** Each as soon as it has its first part, or its end. */
async function leaveAfterFirst(streams: Parameters<Leave>[0]): Promise<void> {
  const left = streams.map(
    (stream) =>
      new Promise<void>((resolve) => {
        stream.once("data", () => stream.close(ERROR.cancel));
        stream.once("close", () => resolve());
      }),
  );
  await Promise.all(left);
}
