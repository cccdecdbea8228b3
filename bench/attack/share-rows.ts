import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { callOn, frame, METHODS, openSession, openStream } from "./grpc-attack.ts";
import { headOf, openSocket, post } from "./http-attack.ts";
import { bytesField, repeated, varintField } from "./protobuf.ts";

const PATH = "/v2/models/default/infer";
const ANNOUNCED_BYTES = 256 * 1024 * 1024;
/** More than the part of a message that shows its client to be serious. */
const SENT_BYTES = 17_000;
/** A body of another client that needs room. */
const NEIGHBOUR_BYTES = 1_000_000;
const HOLD_MS = 2000;
const SIP_MS = 200;
const SIPPED_BYTES = 60_000_000;

/** Requests that hold what others need: see docs/limits.md. */
export const SHARE_ROWS: readonly AttackRow[] = [
  { name: "announced-http", server: "null", prepare: () => announcedHttp(headOf(PATH, ANNOUNCED_BYTES)) },
  {
    name: "announced-http-form",
    server: "null",
    prepare: () => announcedHttp(headOf(PATH, ANNOUNCED_BYTES, { "content-type": "multipart/form-data; boundary=b" })),
  },
  { name: "announced-grpc", server: "null", prepare: () => announcedGrpc(METHODS.infer) },
  { name: "announced-grpc-stream", server: "null", prepare: () => announcedGrpc(METHODS.stream) },
  { name: "sipped-http", server: "null", prepare: () => sippedHttp },
  { name: "sipped-grpc", server: "null", prepare: () => sippedGrpc },
  { name: "eight-bodies-http", server: "null", prepare: () => eightBodies() },
  { name: "flood-one-model", server: "queued", neverRefusesOthers: true, prepare: () => floodOneModel },
  { name: "priority-http", server: "null", prepare: () => (target) => floodFirst(() => firstOverHttp(target)) },
  { name: "priority-grpc", server: "null", prepare: () => floodFirstOverGrpc },
];

/** Large bodies at once, for which all threads that decode have work. */
function eightBodies() {
  const body = Buffer.concat([
    Buffer.from('{"x":['),
    repeated("1.2345678901234567e-5,", 1_400_000),
    Buffer.from("1]}"),
  ]);
  return async (target: Target) => {
    const statuses = Array.from({ length: 8 }, () => post(target, { path: "/serving-proxy", body }));
    return { got: tally(await Promise.all(statuses)) };
  };
}

const FLOODING = { sessions: 8, streams: 250 } as const;
/** Time in which a flood has taken all places, in milliseconds. */
const FULL_MS = 20_000;
const ANSWERED = "grpc 0";

/** More requests for one slow model than a server takes at a time: others ask another one. */
async function floodOneModel(target: Target): Promise<AttackResult> {
  const values = bytesField(5, bytesField(6, Buffer.alloc(4)));
  const input = bytesField(5, bytesField(1, "x"), bytesField(2, "FP32"), bytesField(3, Buffer.of(1)), values);
  const message = Buffer.concat([bytesField(1, "slow"), input]);
  const sessions = await Promise.all(Array.from({ length: FLOODING.sessions }, () => openSession(target)));
  const statuses: string[] = [];
  for (const session of sessions) {
    for (let count = 0; count < FLOODING.streams; count++) {
      void callOn(session, { path: METHODS.infer, message }).then((status) => statuses.push(status));
    }
  }
  // From the first refusal on there are as many as the server takes.
  const isFull = () => statuses.some((status) => status !== ANSWERED);
  for (let waited = 0; waited < FULL_MS && !isFull(); waited += HOLD_MS / 4) await wait(HOLD_MS / 4);
  await wait(2 * HOLD_MS);
  const got = `${FLOODING.sessions * FLOODING.streams} requests: ${tally(statuses)}`;
  for (const session of sessions) session.destroy();
  if (!isFull()) return { got, problem: "the flood does not take all places" };
  return statuses.includes(ANSWERED) ? { got } : { got, problem: "the flooded model answers nothing" };
}

/** A flood that wants to be served before all others. */
async function floodFirst(ask: () => Promise<string>): Promise<AttackResult> {
  const end = performance.now() + HOLD_MS;
  const statuses: string[] = [];
  const one = async () => {
    while (performance.now() < end) statuses.push(await ask());
  };
  await Promise.all(Array.from({ length: 4 }, one));
  return { got: tally(statuses) };
}

function firstOverHttp(target: Target): Promise<string> {
  const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1.5] }];
  return post(target, { path: PATH, body: Buffer.from(JSON.stringify({ inputs, parameters: { priority: 1 } })) });
}

async function floodFirstOverGrpc(target: Target): Promise<AttackResult> {
  const session = await openSession(target);
  const priority = bytesField(4, bytesField(1, "priority"), bytesField(2, varintField(2, 1)));
  const message = textMessage("x", priority);
  const result = await floodFirst(() => callOn(session, { path: METHODS.infer, message }));
  session.destroy();
  return result;
}

/** Asks the default model by one text, over gRPC. */
function textMessage(text: string, ...more: Buffer[]): Buffer {
  const contents = bytesField(5, bytesField(8, text));
  const input = bytesField(5, bytesField(1, "x"), bytesField(2, "BYTES"), bytesField(3, Buffer.of(1)), contents);
  return Buffer.concat([bytesField(1, "default"), ...more, input]);
}

/** Large bodies that are announced, of which a little comes: they must not keep others out. */
function announcedHttp(head: string) {
  return async (target: Target) => {
    const sockets = Array.from({ length: 8 }, () => openSocket(target.http));
    for (const socket of sockets) {
      socket.on("error", () => {});
      socket.write(head + "a".repeat(SENT_BYTES));
    }
    return await besides(target, () => end(sockets));
  };
}

function announcedGrpc(path: string) {
  const half = frame(Buffer.alloc(SENT_BYTES));
  half.writeUInt32BE(ANNOUNCED_BYTES, 1);
  return async (target: Target) => {
    const session = await openSession(target);
    for (let count = 0; count < 8; count++) {
      const stream = openStream(session, { path });
      stream.on("error", () => {});
      stream.write(half);
    }
    return await besides(target, () => session.destroy());
  };
}

/** Large answers of which their clients take a little all the time. */
async function sippedHttp(target: Target): Promise<AttackResult> {
  const body = JSON.stringify({
    parameters: { binary_data_output: true },
    inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: ["x".repeat(SIPPED_BYTES)] }],
  });
  const sockets: Socket[] = [];
  for (let count = 0; count < 8; count++) {
    const socket = openSocket(target.http);
    socket.on("error", () => {}).pause();
    socket.write(headOf(PATH, body.length) + body);
    sockets.push(socket);
  }
  return await sip(target, sockets);
}

const SIP_WINDOW = 16 * 1024;

async function sippedGrpc(target: Target): Promise<AttackResult> {
  const session = await openSession(target, SIP_WINDOW);
  const message = frame(textMessage("x".repeat(SIPPED_BYTES)));
  const streams = Array.from({ length: 8 }, () => {
    const stream = openStream(session, { path: METHODS.infer });
    stream.on("error", () => {}).pause();
    stream.end(message);
    return stream;
  });
  return await sip(target, streams, () => session.destroy());
}

/** Takes a little of each answer now and then. */
async function sip(target: Target, answers: readonly Duplex[], over = () => {}): Promise<AttackResult> {
  const sipping = setInterval(() => {
    for (const answer of answers) answer.read(100);
  }, SIP_MS);
  await wait(2 * HOLD_MS);
  return await besides(target, () => {
    clearInterval(sipping);
    end(answers);
    over();
  });
}

/** The statuses of requests that need room meanwhile. */
async function besides(target: Target, over: () => void): Promise<AttackResult> {
  const body = Buffer.from(
    JSON.stringify({ inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: ["x".repeat(NEIGHBOUR_BYTES)] }] }),
  );
  await wait(HOLD_MS / 4);
  const statuses: string[] = [];
  for (let count = 0; count < 4; count++) {
    statuses.push(await post(target, { path: PATH, body }));
    await wait(HOLD_MS / 4);
  }
  over();
  const got = tally(statuses);
  return statuses.every((status) => status === "200") ? { got } : { got, problem: "others are refused" };
}

function end(sockets: readonly Duplex[]): void {
  for (const socket of sockets) socket.destroy();
}
