import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { cpuMs } from "../../test/helpers/process-usage.ts";
import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { frame, METHODS, openSession, openStream } from "./grpc-attack.ts";
import { codeOf, headOf, openSocket, postAndLeave } from "./http-attack.ts";
import { bytesField, repeated, varint } from "./protobuf.ts";

const PATH = "/v2/models/default/infer";
const HOLD_MS = 3000;
const CUT_WITHIN_MS = 12_000;
const NOTICE_MS = 1500;
/**
 * Processor time that requests whose clients left may still cost in a second, in
 * milliseconds, besides that of the other client's.
 */
const MAX_LEFT_MS = 150;

/** A request of raw floats, which the null model sends back. */
function binaryBody(bytes: number): { body: Buffer; headers: Record<string, string> } {
  const parameters = { binary_data_output: true };
  const input = { name: "x", datatype: "FP32", shape: [bytes / 4], parameters: { binary_data_size: bytes } };
  const head = Buffer.from(JSON.stringify({ parameters, inputs: [input] }));
  const headers = { "inference-header-content-length": String(head.length) };
  return { body: Buffer.concat([head, Buffer.alloc(bytes)]), headers };
}

/** A request of as many bytes of floats. */
export function grpcMessage(bytes: number): Buffer {
  const input = bytesField(5, bytesField(1, "x"), bytesField(2, "FP32"), bytesField(3, varint(bytes / 4)));
  return Buffer.concat([bytesField(1, "default"), input, bytesField(7, Buffer.alloc(bytes))]);
}

/** Memory that a client could make the server hold. */
export const MEMORY_ROWS: readonly AttackRow[] = [
  { name: "unread-http", server: "null", prepare: () => unreadHttp(16_000_000, HOLD_MS) },
  { name: "unread-grpc", server: "null", prepare: () => unreadGrpc(16_000_000, HOLD_MS) },
  { name: "unread-http-small", server: "null", prepare: () => unreadPipelined() },
  { name: "unread-cut-http", server: "send-timeout", prepare: () => unreadHttp(16_000_000, CUT_WITHIN_MS, true) },
  { name: "unread-cut-grpc", server: "send-timeout", prepare: () => unreadGrpc(16_000_000, CUT_WITHIN_MS, true) },
  { name: "bodies-http", server: "null", prepare: () => bodiesHttp(64, 50_000_000) },
  { name: "bodies-grpc", server: "null", prepare: () => bodiesGrpc(64, 50_000_000) },
  { name: "bodies-grpc-one-connection", server: "null", prepare: () => bodiesGrpc(64, 50_000_000, true) },
  { name: "chunks-http", server: "null", prepare: () => tinyChunks() },
  { name: "frames-grpc", server: "null", prepare: () => tinyFrames() },
  ...leftRows(),
];

/** Eighty requests whose answers are not read. */
function unreadHttp(bytes: number, holdMs: number, isCut = false) {
  const { body, headers } = binaryBody(bytes);
  return async ({ http }: Target) => {
    const sockets = await sendAll(
      80,
      () => openSocket(http),
      (socket) => {
        socket.pause();
        socket.write(headOf(PATH, body.length, headers));
        socket.write(body);
      },
    );
    return await holdAndCount(sockets, holdMs, isCut);
  };
}

function unreadGrpc(bytes: number, holdMs: number, isCut = false) {
  const framed = frame(grpcMessage(bytes));
  return async (target: Target) => {
    const session = await openSession(target, 0);
    const streams = Array.from({ length: 80 }, () => openStream(session, { path: METHODS.infer }));
    for (const stream of streams) {
      stream.on("error", () => {});
      stream.end(framed);
      await wait(20);
    }
    const result = await holdAndCount(streams, holdMs, isCut);
    session.destroy();
    return result;
  };
}

/** Many small requests one after the other on each connection: their answers are larger than they are. */
function unreadPipelined() {
  const body = Buffer.from(`{"instances":[${"1,".repeat(2000)}1]}`);
  const request = Buffer.concat([Buffer.from(headOf("/v1/models/default:predict", body.length)), body]);
  const many = repeated(request, 3000);
  return async ({ http }: Target) => {
    const sockets = await sendAll(
      40,
      () => openSocket(http),
      (socket) => {
        socket.pause();
        socket.write(many);
      },
    );
    return await holdAndCount(sockets, HOLD_MS, false);
  };
}

interface Closable {
  readonly destroyed: boolean;
  once(event: "data", listener: (bytes: Buffer) => void): { resume(): unknown };
  destroy(): unknown;
}

async function holdAndCount(connections: readonly Closable[], holdMs: number, isCut: boolean) {
  await wait(holdMs);
  const refused = new Set<Closable>();
  if (isCut) {
    // Who does not read does not hear of a reset either; a request that there was no room
    // for has its answer, which is small.
    for (const connection of connections) {
      connection.once("data", (bytes) => bytes.toString("latin1", 9, 12) === "503" && refused.add(connection)).resume();
    }
    await wait(NOTICE_MS);
  }
  const open = connections.filter((connection) => !connection.destroyed && !refused.has(connection)).length;
  for (const connection of connections) connection.destroy();
  const got = `${open} of ${connections.length} open after ${holdMs / 1000} s`;
  return isCut && open > 0 ? { got, problem: "who reads nothing is not cut" } : { got };
}

async function sendAll(count: number, open: () => Socket, send: (socket: Socket) => void): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index++) {
    const socket = open();
    socket.on("error", () => {});
    send(socket);
    sockets.push(socket);
    await wait(20);
  }
  return sockets;
}

/** Bodies whose last byte is held back, all at once. */
function bodiesHttp(count: number, bytes: number) {
  const { body, headers } = binaryBody(bytes);
  return async ({ http }: Target) => {
    const statuses: Promise<string>[] = [];
    const sockets = await sendAll(
      count,
      () => openSocket(http),
      (socket) => {
        statuses.push(firstLine(socket));
        socket.write(headOf(PATH, body.length, headers));
        socket.write(body.subarray(0, -1));
      },
    );
    await wait(HOLD_MS);
    for (const socket of sockets) socket.write(body.subarray(-1));
    const got = tally(await Promise.all(statuses));
    for (const socket of sockets) socket.destroy();
    return { got };
  };
}

/** The status in the first line that comes; `closed` where none does. */
function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once("data", (chunk) => resolve(chunk.toString("latin1", 9, 12)));
    socket.on("error", (reason) => resolve(codeOf(reason)));
    socket.on("close", () => resolve("closed"));
  });
}

function bodiesGrpc(count: number, bytes: number, isOneConnection = false) {
  const framed = frame(grpcMessage(bytes));
  return async (target: Target) => {
    const shared = isOneConnection ? await openSession(target) : undefined;
    const sessions =
      shared === undefined ? await Promise.all(Array.from({ length: count }, () => openSession(target))) : [];
    const streams = Array.from({ length: count }, (_, index) => {
      const stream = openStream(shared ?? (sessions[index] as never), { path: METHODS.infer });
      stream.write(framed.subarray(0, -1));
      return stream;
    });
    const statuses = streams.map(
      (stream) =>
        new Promise<string>((resolve) => {
          stream.on("error", () => {});
          stream.on("trailers", (trailers) => resolve(`grpc ${trailers["grpc-status"]}`));
          stream.on("close", () => resolve("reset"));
          stream.resume();
        }),
    );
    await wait(HOLD_MS);
    for (const stream of streams) stream.end(framed.subarray(-1));
    const got = tally(await Promise.all(statuses));
    for (const session of [...sessions, ...(shared === undefined ? [] : [shared])]) session.destroy();
    return { got };
  };
}

/** A body of two million chunks of one byte. */
function tinyChunks() {
  const head = headOf(PATH, 0).replace(/content-length: 0/, "transfer-encoding: chunked");
  const body = Buffer.concat([repeated("1\r\n{\r\n", 2_000_000), Buffer.from("0\r\n\r\n")]);
  return async ({ http }: Target) => {
    const socket = openSocket(http);
    const status = firstLine(socket);
    socket.write(head);
    socket.write(body);
    const got = await status;
    socket.destroy();
    return { got };
  };
}

/** A message in half a million DATA frames of one byte. */
function tinyFrames() {
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const settings = Buffer.from("000000040000000000", "hex");
  // HPACK: the indexed fields :method POST and :scheme http, then literals without indexing.
  const literal = (name: string, value: string) =>
    Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
  const block = Buffer.concat([
    Buffer.from([0x83, 0x86]),
    literal(":path", METHODS.infer),
    literal(":authority", "a"),
    literal("content-type", "application/grpc"),
    literal("te", "trailers"),
  ]);
  const headers = Buffer.concat([frameHead(block.length, 1, 4), block]);
  const data = repeated(Buffer.concat([frameHead(1, 0, 0), Buffer.alloc(1, 1)]), 500_000);
  return async ({ grpc }: Target) => {
    const socket = openSocket(grpc);
    const closed = new Promise<string>((resolve) => {
      socket.on("error", (reason) => resolve(codeOf(reason)));
      socket.on("close", () => resolve("closed"));
    });
    socket.resume();
    for (const part of [preface, settings, headers]) socket.write(part);
    const sent = new Promise<string>((resolve) => socket.write(data, () => resolve("all taken")));
    const got = await Promise.race([closed, sent, wait(10_000, "not taken within 10 s")]);
    await wait(500);
    socket.destroy();
    return { got };
  };
}

function frameHead(length: number, type: number, flags: number): Buffer {
  return Buffer.from([length >> 16, (length >> 8) & 255, length & 255, type, flags, 0, 0, 0, 1]);
}

/** Milliseconds of processor time that a process takes in the next second. */
async function cpuOfASecond(pid: number): Promise<number> {
  const before = cpuMs(pid);
  await wait(1000);
  return cpuMs(pid) - before;
}

/** Requests whose clients go away once they are sent; a second later they should cost nothing any more. */
function leftRows(): AttackRow[] {
  const bodies: Readonly<Record<string, readonly [path: string, make: () => Buffer]>> = {
    floats: [
      "/v1/models/default:predict",
      () => Buffer.from(`{"instances":[${"1.2345678901234567e-5,".repeat(1_000_000)}1]}`),
    ],
    strings: ["/predict", () => Buffer.from(`{"inputs":{"x":{"dtype":7,"data":[${'"a",'.repeat(3_000_000)}"a"]}}}`)],
    objects: ["/serving-proxy", () => Buffer.from(`{"x":[${"{},".repeat(3_000_000)}{}]}`)],
  };
  return Object.entries(bodies).map(
    ([name, [path, make]]) =>
      ({
        name: `left-${name}`,
        server: "null",
        prepare: () => {
          const body = make();
          return async (target) => {
            const restMs = await cpuOfASecond(target.pid);
            const got = tally(await Promise.all(Array.from({ length: 8 }, () => postAndLeave(target, { path, body }))));
            await wait(1000);
            const spentMs = (await cpuOfASecond(target.pid)) - restMs;
            return spentMs > MAX_LEFT_MS
              ? { got, problem: `${spentMs} ms of processor time in the second second after they left` }
              : { got };
          };
        },
      }) satisfies AttackRow,
  );
}
