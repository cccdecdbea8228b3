import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { OPENING, resetCalls } from "../../test/grpc/flood-frames.ts";
import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { METHODS } from "./grpc-attack.ts";
import { firstStatus, openSocket } from "./http-attack.ts";
import { repeated } from "./protobuf.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const NO_SETTINGS = Buffer.from("000000040000000000", "hex");
/** A connection that has not said what it wants should be closed by then. */
const HANDSHAKE_MS = 30_000;
const FLOOD_MS = 2000;
const RESETS_AT_ONCE = 100;
const EACH = 20;

/** Beginnings of connections that go no further, by the server and the port that they go to. */
const HALVES: readonly {
  readonly name: string;
  readonly server: "null" | "shared";
  readonly wire: "grpc" | "http";
  readonly beginnings: Readonly<Record<string, string | Buffer>>;
}[] = [
  {
    name: "grpc",
    server: "null",
    wire: "grpc",
    beginnings: {
      silent: "",
      preface: PREFACE,
      "half-preface": PREFACE.slice(0, 9),
      "half-frame": Buffer.concat([Buffer.from(PREFACE), NO_SETTINGS, Buffer.from([0, 1])]),
    },
  },
  {
    name: "http",
    server: "null",
    wire: "http",
    beginnings: {
      silent: "",
      "half-line": "POST /v2/mod",
      "half-head": "POST /v2/models/default/infer HTTP/1.1\r\nHost: a\r\n",
    },
  },
  { name: "shared", server: "shared", wire: "http", beginnings: { silent: "", p: "P", pr: "PR", preface: PREFACE } },
];

/** Request lines and heads that RFC 9112 refuses, and the status that they get. */
const HEADS: readonly (readonly [name: string, head: string, status: string])[] = [
  ["http-2.0", "GET /v2/health/live HTTP/2.0\r\nHost: a\r\n\r\n", "505"],
  ["http-0.9", "GET /v2/health/live HTTP/0.9\r\nHost: a\r\n\r\n", "505"],
  ["two-hosts", "GET /v2/health/live HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"],
  ["no-host", "GET /v2/health/live HTTP/1.1\r\n\r\n", "400"],
  ["two-lengths", "POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", "400"],
  [
    "length-and-chunks",
    "POST /predict HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "400",
  ],
];

const FLOODS: Readonly<Record<string, (target: Target) => Promise<string>>> = {
  "rapid-reset": rapidReset,
  "rapid-reset-in-turn": async (target) => {
    const ends: string[] = [];
    for (let connection = 0; connection < 20; connection++) ends.push(await rapidReset(target));
    return tally(ends.map(stateOf));
  },
  "rapid-reset-at-once": async (target) => {
    const ends = await Promise.all(Array.from({ length: 8 }, () => rapidReset(target)));
    return tally(ends.map(stateOf));
  },
  pings: (target) => floodFrames(target, Buffer.from("0000080600000000000000000000000000", "hex")),
  settings: (target) => floodFrames(target, NO_SETTINGS),
  priorities: (target) => floodFrames(target, Buffer.from("0000050200000000010000000010", "hex")),
  "window-updates": (target) => floodFrames(target, Buffer.from("00000408000000000000000001", "hex")),
  "empty-headers": (target) =>
    floodFrames(target, Buffer.from("000000090000000001", "hex"), Buffer.from("000001010000000001" + "83", "hex")),
  // A block of headers that never ends (CVE-2024-27983).
  continuations: (target) =>
    floodFrames(target, continuation(Buffer.from("00016101620001630164", "hex")), OPEN_HEADERS),
  "empty-continuations": (target) => floodFrames(target, continuation(Buffer.alloc(0)), OPEN_HEADERS),
  connections: floodConnections,
};

/** Headers whose block is to go on. */
const OPEN_HEADERS = Buffer.from("00000101000000000183", "hex");

function continuation(block: Buffer): Buffer<ArrayBuffer> {
  return Buffer.concat([Buffer.from([0, 0, block.length, 9, 0, 0, 0, 0, 1]), block]);
}

/** Connections that say little, or too much. */
export const CONNECTION_ROWS: readonly AttackRow[] = [
  ...HALVES.map(halfRow),
  ...HEADS.map(([name, head, status]) => headRow(name, head, status)),
  ...Object.entries(FLOODS).map(
    ([name, flood]) =>
      ({
        name: `flood-${name}`,
        server: "null",
        isPlain: name === "connections",
        prepare: () => async (target) => ({ got: await flood(target) }),
      }) satisfies AttackRow,
  ),
];

/** All beginnings at once: each takes as long as a handshake may. */
function halfRow({ name, server, wire, beginnings }: (typeof HALVES)[number]): AttackRow {
  const attack = async (target: Target) => {
    const began = performance.now();
    const open = await Promise.all(
      Object.entries(beginnings).map(async ([beginning, bytes]) => {
        const count = await openAfterHandshake(target[wire], bytes);
        return count === 0 ? [] : [`${count} of ${EACH} ${beginning}`];
      }),
    );
    const seconds = Math.round((performance.now() - began) / 1000);
    const got = `${open.flat().join(", ") || "none"} open after ${seconds} s`;
    return open.flat().length === 0 ? { got } : { got, problem: "stays open" };
  };
  return { name: `half-${name}`, server, prepare: () => attack };
}

/** Begins connections alike; returns how many of them the server still has when a handshake should be over. */
async function openAfterHandshake(address: string, bytes: string | Buffer): Promise<number> {
  const sockets = Array.from({ length: EACH }, () => openSocket(address));
  for (const socket of sockets) {
    socket.on("error", () => {}).resume();
    socket.write(bytes);
  }
  await Promise.race([Promise.all(sockets.map(closed)), wait(HANDSHAKE_MS)]);
  const open = sockets.filter(({ destroyed }) => !destroyed).length;
  for (const socket of sockets) socket.destroy();
  return open;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on("close", () => resolve());
  });
}

function headRow(name: string, head: string, expected: string): AttackRow {
  const attack = async ({ http }: Target) => {
    const got = await firstStatus(http, head);
    return got === expected ? { got } : { got, problem: `expected ${expected}` };
  };
  return { name: `head-${name}`, server: "null", prepare: () => attack };
}

/**
 * Calls that are reset as soon as they are made (CVE-2023-44487), as bytes: over TLS the client of node:http2 may not
 * notice that it was cut.
 */
async function rapidReset({ grpc }: Target): Promise<string> {
  const socket = openSocket(grpc);
  socket.on("error", () => {}).resume();
  socket.write(OPENING);
  const end = performance.now() + FLOOD_MS;
  let resets = 0;
  for (; performance.now() < end && !socket.destroyed; resets += RESETS_AT_ONCE) {
    socket.write(resetCalls(METHODS.infer, { first: 2 * resets + 1, calls: RESETS_AT_ONCE }));
    await wait(1);
  }
  const state = socket.destroyed ? "cut" : "open";
  socket.destroy();
  return `${resets} resets, ${state}`;
}

/** The last word of a flood's outcome. */
function stateOf(outcome: string): string {
  return outcome.split(", ").at(-1) as string;
}

/** Frames without end on one connection, as fast as they are taken. */
async function floodFrames({ grpc }: Target, unit: Buffer, first = Buffer.alloc(0)): Promise<string> {
  const socket = openSocket(grpc);
  socket.on("error", () => {}).resume();
  socket.write(Buffer.concat([Buffer.from(PREFACE), NO_SETTINGS, first]));
  const many = repeated(unit, 2000);
  const cut = closed(socket);
  const end = performance.now() + FLOOD_MS;
  let sent = 0;
  while (performance.now() < end && !socket.destroyed) {
    const taken = new Promise<void>((resolve) => socket.write(many, () => resolve()));
    await Promise.race([taken, cut, wait(end - performance.now())]);
    sent += 2000;
  }
  const state = socket.destroyed ? "cut" : "open";
  socket.destroy();
  return `${sent} frames, ${state}`;
}

/** Two thousand connections, half of them to each port. */
async function floodConnections({ grpc, http }: Target): Promise<string> {
  const sockets = Array.from({ length: 2000 }, (_, index) => openSocket(index % 2 === 0 ? grpc : http));
  for (const socket of sockets) socket.on("error", () => {});
  await wait(FLOOD_MS);
  const states = sockets.map(({ destroyed, connecting }) => (destroyed ? "cut" : connecting ? "waiting" : "open"));
  for (const socket of sockets) socket.destroy();
  return tally(states);
}
