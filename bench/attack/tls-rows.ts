import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectEncrypted } from "node:tls";
import { type AttackResult, type AttackRow, type Target, tally } from "./attack-row.ts";
import { CONNECTION_ROWS } from "./connection-rows.ts";
import { CVE_ROWS } from "./cve-rows.ts";
import { FIRST_BYTES_ROWS } from "./first-bytes-rows.ts";
import { MEMORY_ROWS } from "./memory-rows.ts";

/** Rows without TLS that are run with it too. */
const MAIN =
  /^(?:flood|cve-(?:2016|2019|2023-44|2024-27|2025-8671-window|2026-49975-c|late)|unread-http$|unread-grpc$|unread-cut|bodies|chunks|frames)/;
const HANDSHAKES = 500;
const WITHIN_MS = 10_000;
/** A connection that has not shown what it wants should be closed by then. */
const HANDSHAKE_MS = 30_000;

/** Floods through encrypted connections, and of handshakes. */
export const TLS_ROWS: readonly AttackRow[] = [
  ...[...CONNECTION_ROWS, ...FIRST_BYTES_ROWS, ...CVE_ROWS, ...MEMORY_ROWS]
    .filter(({ name, server, isPlain }) => server !== "shared" && MAIN.test(name) && isPlain !== true)
    .map((row) => ({ ...row, name: `tls-${row.name}`, isEncrypted: true })),
  tlsRow("handshakes", handshakesTogether),
  tlsRow("half", halves),
];

function tlsRow(name: string, attack: (target: Target) => Promise<AttackResult>): AttackRow {
  return { name: `tls-${name}`, server: "null", isEncrypted: true, prepare: () => attack };
}

/** Connections that are open, and then begin their handshakes in one moment. */
async function handshakesTogether({ http }: Target): Promise<AttackResult> {
  const { hostname, port } = new URL(http);
  const sockets = Array.from({ length: HANDSHAKES }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.on("error", () => {});
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  await wait(500);
  const hello = await firstBytes();
  for (const socket of sockets) socket.write(hello);
  const answered = sockets.map((socket) =>
    Promise.race([once(socket, "data").then(() => "answered"), wait(WITHIN_MS, "not answered")]),
  );
  const got = tally(await Promise.all(answered));
  for (const socket of sockets) socket.destroy();
  return { got };
}

/** The first bytes of a client that begins TLS. */
function firstBytes(): Promise<Buffer> {
  return new Promise((resolve) => {
    const transport = new Duplex({ read: () => {}, write: (bytes: Buffer) => resolve(bytes) });
    connectEncrypted({ socket: transport, host: "localhost" }).on("error", () => {});
  });
}

/** Beginnings of handshakes that go no further. */
async function halves({ http, grpc }: Target): Promise<AttackResult> {
  const beginnings = ["", "\x16", "\x16\x03\x01\x02\x00\x01\x00"];
  const sockets = [http, grpc].flatMap((address) =>
    beginnings.map((bytes) => {
      const { hostname, port } = new URL(address);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {}).resume();
      socket.write(bytes, "latin1");
      return socket;
    }),
  );
  await Promise.race([Promise.all(sockets.map(closed)), wait(HANDSHAKE_MS)]);
  const open = sockets.filter(({ destroyed }) => !destroyed).length;
  for (const socket of sockets) socket.destroy();
  return open === 0 ? { got: "none open" } : { got: `${open} open`, problem: "stays open" };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
  });
}
