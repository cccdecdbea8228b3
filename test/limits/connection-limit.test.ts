import { connect as connectNet, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { connect } from "../grpc/byte-client.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { healthOf } from "../helpers/health-of.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsPath } from "../helpers/tls-fixture.ts";

async function start(options: Partial<ServerOptions> = {}) {
  const { log, find } = createEventLog();
  const server = await startServer({ stages: [{ driver: "null" }], maxConnections: 2, log, ...options });
  const port = Number(new URL(server.httpUrl).port);
  return { server, port, find };
}

/** A connection that says nothing, once the server has it. */
async function idle(port: number): Promise<Socket> {
  const socket = connectNet(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()).once("close", () => resolve()));
  return socket;
}

async function isReset(socket: Socket): Promise<boolean> {
  if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve));
  return socket.destroyed;
}

test("connections beyond the limit, of both ports together, are reset, and the log says so", async () => {
  const { server, port, find } = await start();
  const grpcPort = Number(server.grpcAddress.split(":").at(-1));
  const [first] = [await idle(port), await idle(grpcPort)];
  expect(await isReset(await idle(port))).toBe(true);
  expect(await isReset(await idle(grpcPort))).toBe(true);
  await find({ msg: "connections are refused: there are 2, the most that the server may have (--max-connections)" });
  first.destroy();
  await expect.poll(() => healthOf(server)).toBe(200);
});

test("connections beyond the limit are reset before their handshake where they are encrypted", async () => {
  const { port } = await start({ tls: { cert: tlsPath("server.pem"), key: tlsPath("server.key") } });
  await Promise.all([idle(port), idle(port)]);
  expect(await isReset(await idle(port))).toBe(true);
});

test("the port for administration answers when the others are full", async () => {
  const { server, port } = await start({ admin: {}, clientRate: 1 });
  await Promise.all([idle(port), idle(port)]);
  const ask = async () => (await fetch(`${server.adminUrl}/v2`)).status;
  expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 200]);
});

test("0 is no limit", async () => {
  const { server, port } = await start({ maxConnections: 0 });
  const sockets = await Promise.all(Array.from({ length: 20 }, () => idle(port)));
  expect((await fetch(`${server.httpUrl}/health`)).status).toBe(200);
  await connect(server.grpcAddress).call("/grpc.health.v1.Health/Check", Buffer.alloc(0));
  expect(sockets.some(({ destroyed }) => destroyed)).toBe(false);
});
