import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { firstStatus, openSocket } from "./http-attack.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const NO_SETTINGS = Buffer.from("000000040000000000", "hex");
/** A connection that has not said what it wants should be closed by then. */
const HANDSHAKE_MS = 30_000;
const FLOOD_MS = 2000;
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

/** Connections that say little, or are many. */
export const CONNECTION_ROWS: readonly AttackRow[] = [
  ...HALVES.map(halfRow),
  ...HEADS.map(([name, head, status]) => headRow(name, head, status)),
  {
    name: "flood-connections",
    server: "null",
    isPlain: true,
    prepare: () => async (target) => ({ got: await floodConnections(target) }),
  },
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
  // TLS has its own limit, which the row tls-half tries.
  return { name: `half-${name}`, server, isPlain: server === "shared", prepare: () => attack };
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

/** Two thousand connections, half of them to each port. */
async function floodConnections({ grpc, http }: Target): Promise<string> {
  const sockets = Array.from({ length: 2000 }, (_, index) => openSocket(index % 2 === 0 ? grpc : http));
  for (const socket of sockets) socket.on("error", () => {});
  await wait(FLOOD_MS);
  const states = sockets.map(({ destroyed, connecting }) => (destroyed ? "cut" : connecting ? "waiting" : "open"));
  for (const socket of sockets) socket.destroy();
  return tally(states);
}
