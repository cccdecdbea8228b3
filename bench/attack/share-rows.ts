import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { frame, METHODS, openSession, openStream } from "./grpc-attack.ts";
import { headOf, openSocket, post } from "./http-attack.ts";

const PATH = "/v2/models/default/infer";
const ANNOUNCED_BYTES = 256 * 1024 * 1024;
/** More than the part of a message that shows its client to be serious. */
const SENT_BYTES = 17_000;
/** A body of another client that needs room. */
const NEIGHBOUR_BYTES = 1_000_000;
const HOLD_MS = 2000;
const SIP_MS = 200;

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
  { name: "priority-http", server: "null", prepare: () => floodFirst },
];

/** A flood that wants to be served before all others. */
async function floodFirst(target: Target): Promise<AttackResult> {
  const inputs = [{ name: "x", datatype: "FP32", shape: [1], data: [1.5] }];
  const body = Buffer.from(JSON.stringify({ inputs, parameters: { priority: 1 } }));
  const end = performance.now() + HOLD_MS;
  const statuses: string[] = [];
  const one = async () => {
    while (performance.now() < end) statuses.push(await post(target, { path: PATH, body }));
  };
  await Promise.all(Array.from({ length: 4 }, one));
  return { got: tally(statuses) };
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
    inputs: [{ name: "x", datatype: "BYTES", shape: [1], data: ["x".repeat(60_000_000)] }],
  });
  const sockets: Socket[] = [];
  for (let count = 0; count < 8; count++) {
    const socket = openSocket(target.http);
    socket.on("error", () => {}).pause();
    socket.write(headOf(PATH, body.length) + body);
    sockets.push(socket);
  }
  const sipping = setInterval(() => {
    for (const socket of sockets) socket.read(100);
  }, SIP_MS);
  await wait(2 * HOLD_MS);
  return await besides(target, () => {
    clearInterval(sipping);
    end(sockets);
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

function end(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
}
