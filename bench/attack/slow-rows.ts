import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { headOf, openSocket, post } from "./http-attack.ts";

const PATH = "/v2/models/default/infer";
const CONNECTIONS = 200;
/** A head that is not whole by then should be given up. */
const HEAD_WITHIN_MS = 30_000;
const BODY_MS = 5000;
const BYTE_EVERY_MS = 250;
const CLAIMED_BYTES = 50_000_000;
/** More than a message may have once it is inflated, in a thousandth of it. */
const BOMB_BYTES = 400_000_000;

/** Requests that come byte by byte, and that become many times what they were. */
export const SLOW_ROWS: readonly AttackRow[] = [
  { name: "slow-heads", server: "null", prepare: () => slowHeads },
  { name: "slow-bodies", server: "null", prepare: () => slowBodies },
  { name: "bomb-gzip-http", server: "null", prepare: () => bombOverHttp("gzip", (bytes) => gzipSync(bytes), "413") },
  {
    name: "bomb-gzip-twice",
    server: "null",
    prepare: () => bombOverHttp("gzip, gzip", (bytes) => gzipSync(gzipSync(bytes)), "415"),
  },
  { name: "bomb-gzip-grpc", server: "null", prepare: bombOverGrpc },
];

/** Slowloris: each head gets a byte now and then, so that its connection is never silent. */
async function slowHeads({ http }: Target): Promise<AttackResult> {
  const head = `POST ${PATH} HTTP/1.1\r\nHost: a\r\nX-Slow: ${"a".repeat(10_000)}`;
  const { open, seconds } = await drip(http, head, HEAD_WITHIN_MS);
  const got = `${open} of ${CONNECTIONS} open after ${seconds} s`;
  return open === 0 ? { got } : { got, problem: "stays open" };
}

async function slowBodies({ http }: Target): Promise<AttackResult> {
  const { open, seconds } = await drip(http, "{".repeat(10_000), BODY_MS, headOf(PATH, CLAIMED_BYTES));
  return { got: `${open} of ${CONNECTIONS} open after ${seconds} s` };
}

/** Sends `first` at once and then byte after byte on many connections, until all are closed or the time is up. */
async function drip(address: string, bytes: string, forMs: number, first = "") {
  const sockets = Array.from({ length: CONNECTIONS }, () => openSocket(address));
  for (const socket of sockets) {
    socket.on("error", () => {}).resume();
    socket.write(first);
  }
  const began = performance.now();
  const open = () => sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded);
  for (let at = 0; performance.now() < began + forMs && open().length > 0; at++) {
    for (const socket of open()) socket.write(bytes[at % bytes.length] as string);
    await wait(BYTE_EVERY_MS);
  }
  const left = open().length;
  for (const socket of sockets) socket.destroy();
  return { open: left, seconds: Math.round((performance.now() - began) / 1000) };
}

function bombOverHttp(encoding: string, compress: (bytes: Buffer) => Buffer, expected: string) {
  const message = { path: PATH, body: compress(Buffer.alloc(BOMB_BYTES)), headers: { "content-encoding": encoding } };
  return async (target: Target) => judge(await times(8, () => post(target, message)), expected);
}

function bombOverGrpc() {
  const headers = { "grpc-encoding": "gzip" };
  const message = { path: METHODS.infer, message: gzipSync(Buffer.alloc(BOMB_BYTES)), headers, isCompressed: true };
  return async (target: Target) => judge(await times(8, () => call(target, message)), "grpc 8");
}

function times(count: number, ask: () => Promise<string>): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, ask));
}

/** Results in which each request was answered as expected, or put off for want of room. */
function judge(statuses: readonly string[], expected: string): AttackResult {
  const got = tally(statuses);
  const isRefused = statuses.every((status) => [expected, "503", "grpc 14"].includes(status));
  return isRefused && statuses.includes(expected) ? { got } : { got, problem: `expected ${expected}` };
}
