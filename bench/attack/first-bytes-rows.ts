import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { resetFrames } from "../../test/grpc/flood-frames.ts";
import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { METHODS } from "./grpc-attack.ts";
import { openSocket } from "./http-attack.ts";

const FLOOD_MS = 2000;
const CONNECTIONS = 20;
/** More than a connection may have; one read of a socket brings most of them. */
const CALLS = 600;
const HTTP1_REQUESTS = 200;

/** Connections whose first bytes ask too much, or are not the protocol of their port. */
export const FIRST_BYTES_ROWS: readonly AttackRow[] = [
  resetsRow("null"),
  resetsRow("shared"),
  {
    name: "flood-http1-at-grpc",
    server: "null",
    isPlain: true,
    prepare: () => async (target) => ({ got: await floodHttp1(target) }),
  },
];

/** Each begins and resets its calls with its first bytes. */
function resetsRow(server: "null" | "shared"): AttackRow {
  const bytes = resetFrames(METHODS.infer, CALLS);
  const attack = async ({ grpc }: Target) => {
    const sockets = Array.from({ length: CONNECTIONS }, () => openSocket(grpc));
    for (const socket of sockets) socket.on("error", () => {}).resume();
    for (const socket of sockets) socket.write(bytes);
    const cut = Promise.all(sockets.map((socket) => once(socket, "close")));
    await Promise.race([cut, wait(FLOOD_MS)]);
    const got = tally(sockets.map(({ destroyed }) => (destroyed ? "cut" : "open")));
    for (const socket of sockets) socket.destroy();
    return { got };
  };
  return { name: `cve-2023-44487-first-bytes-${server}`, server, prepare: () => attack };
}

/** Requests of HTTP/1, each with a body that is not wanted. */
async function floodHttp1({ grpc }: Target): Promise<string> {
  const body = Buffer.alloc(1_000_000);
  const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head), body]);
  const asked = Array.from({ length: HTTP1_REQUESTS }, async () => {
    const socket = openSocket(grpc);
    const status = await Promise.race([firstStatus(socket, bytes), wait(FLOOD_MS, "no answer")]);
    socket.destroy();
    return status;
  });
  return tally(await Promise.all(asked));
}

function firstStatus(socket: Socket, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    socket.once("data", (chunk) => resolve(chunk.toString("latin1", 9, 12)));
    socket.on("error", () => {}).once("close", () => resolve("closed"));
    socket.write(bytes);
  });
}
