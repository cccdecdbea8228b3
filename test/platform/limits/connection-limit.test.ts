import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { request as requestTls } from "node:https";
import { type AddressInfo, connect as connectNet, createServer, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import {
  ConnectionLimit,
  type ConnectionProblem,
  countDescriptors,
  DescriptorReserve,
} from "../../../src/platform/limits/connection-limit.ts";
import { describeConnection, turnClientOf } from "../../../src/platform/limits/open-connections.ts";
import { HANDSHAKE_TIMEOUT_MS, TRANSPORT_LIMITS } from "../../../src/platform/limits/transport-limits.ts";
import type { TurnClient } from "../../../src/platform/limits/waiting-work.ts";
import { carrierSocketOf } from "../../../src/platform/net/node-members.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import { connect } from "../../grpc/byte-client.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { healthOf } from "../../helpers/health-of.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tlsFile, tlsPath } from "../../helpers/tls-fixture.ts";

async function start(options: Partial<ServerOptions> = {}) {
  const { log, find } = createEventLog();
  const server = await startServer({ stages: [{ driver: "null" }], maxConnections: 2, log, ...options });
  const port = Number(new URL(server.httpUrl).port);
  return { server, port, find };
}

/** A connection that says nothing, once the server has it. */
async function idle(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connectNet({ port, host: "127.0.0.1", localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()).once("close", () => resolve()));
  // Between two of these, the event loop takes what waits to be accepted: else the next one may come before it.
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
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

test("an idle connection of the client that has most makes room for a client that has fewer", async () => {
  const { server, port, find } = await start({ maxConnections: 8 });
  const greedy: Socket[] = [];
  for (let count = 0; count < 8; count++) greedy.push(await idle(port, "127.0.0.2"));
  const others = [await idle(port, "127.0.0.3"), await idle(port, "127.0.0.4"), await idle(port, "127.0.0.3")];
  expect(await Promise.all(greedy.slice(0, 3).map(isReset))).toEqual([true, true, true]);
  const text = "the client that has most loses idle connections: there are 8, the most that the server may have";
  await find({ msg: `${text} (--max-connections)` });
  expect(await healthOf(server)).toBe(200);
  expect(await isReset(await idle(port, "127.0.0.2"))).toBe(true);
  await find({ msg: "connections are refused: there are 8, the most that the server may have (--max-connections)" });
  expect([...others, ...greedy.slice(4)].some(({ destroyed }) => destroyed)).toBe(false);
});

test("clients of IPv4 are told apart on a port of IPv6, too", async () => {
  const { server, port } = await start({ maxConnections: 4, host: "::" });
  const greedy = await Promise.all(Array.from({ length: 4 }, () => idle(port, "127.0.0.2")));
  await idle(port, "127.0.0.3");
  await expect.poll(() => greedy.filter(({ closed }) => closed).length).toBe(1);
  expect(await healthOf({ httpUrl: `http://127.0.0.1:${port}` })).toBe(200);
  expect(server.httpUrl).toContain("[::]");
});

test("a client that finds no room does not keep out one that has fewer", async () => {
  const { port } = await start({ maxConnections: 7 });
  const greatest = await Promise.all(Array.from({ length: 4 }, () => idle(port, "127.0.0.2")));
  await Promise.all(Array.from({ length: 3 }, () => idle(port, "127.0.0.3")));
  expect(await isReset(await idle(port, "127.0.0.3"))).toBe(true);
  await idle(port, "127.0.0.4");
  await expect.poll(() => greatest.filter(({ closed }) => closed).length).toBe(1);
});

test("connections of a trusted proxy make no room", async () => {
  const { port } = await start({ maxConnections: 4, trustedProxies: ["127.0.0.2"] });
  const proxied = await Promise.all(Array.from({ length: 4 }, () => idle(port, "127.0.0.2")));
  expect(await isReset(await idle(port, "127.0.0.3"))).toBe(true);
  expect(proxied.some(({ destroyed }) => destroyed)).toBe(false);
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

test.each([
  ["plain", undefined],
  ["encrypted", { cert: tlsPath("server.pem"), key: tlsPath("server.key") }],
])(
  "%s connections of the ports for administration and metrics have limits of their own, and the oldest idle one makes room",
  async (_, tls) => {
    const { server } = await start({ admin: {}, metrics: {}, ...(tls && { tls }) });
    for (const url of [server.adminUrl, server.metricsUrl] as string[]) {
      const sockets: Socket[] = [];
      for (let count = 0; count < TRANSPORT_LIMITS.sideConnections; count++)
        sockets.push(await idle(Number(new URL(url).port)));
      expect([200, 404]).toContain(await statusOf(`${url}/health`));
      // Well before the time that a handshake may take.
      await expect.poll(() => sockets[0]?.destroyed, { timeout: HANDSHAKE_TIMEOUT_MS / 4 }).toBe(true);
      expect(sockets.slice(2).some(({ destroyed }) => destroyed)).toBe(false);
      expect(await statusOf(`${server.httpUrl}/health`)).toBe(200);
    }
  },
);

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = url.startsWith("https")
      ? requestTls(url, { ca: tlsFile("ca.pem"), agent: false })
      : request(url, { agent: false });
    sent
      .on("response", (answer) => resolve(answer.resume().statusCode))
      .on("error", reject)
      .end();
  });
}

/** A limit with so many descriptors, of which some are open, and a server that it guards. */
async function guarded(max: number, before = 0, maxConnections = 0) {
  let open = before;
  const problems: ConnectionProblem[] = [];
  const descriptors = new DescriptorReserve(() => ({ open, max }));
  const limit = new ConnectionLimit({
    max: maxConnections,
    onProblem: (problem) => problems.push(problem),
    descriptors,
  });
  const server = createServer((socket) => {
    open++;
    socket.once("close", () => open--).on("error", () => {});
  });
  onTestFinished(() => void server.close());
  limit.guard(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, problems, port: (server.address() as AddressInfo).port };
}

test("where descriptors come to an end, the oldest idle connection makes room, and it is told", async () => {
  const { port, problems } = await guarded(32);
  const sockets: Socket[] = [];
  for (let count = 0; count < 40; count++) sockets.push(await idle(port));
  expect(problems[0]).toEqual({ kind: "descriptors", max: 32, hasEnded: true });
  expect(await isReset(sockets[0] as Socket)).toBe(true);
  expect(sockets.at(-1)?.destroyed).toBe(false);
});

test("where connections and descriptors come to an end together, one connection makes room for another", async () => {
  const { port, problems } = await guarded(32, 28, 3);
  const greedy: Socket[] = [];
  for (let count = 0; count < 3; count++) greedy.push(await idle(port, "127.0.0.2"));
  const newcomer = await idle(port, "127.0.0.3");
  expect(await isReset(greedy[0] as Socket)).toBe(true);
  expect(problems[0]).toEqual({ kind: "shared", open: 3 });
  expect([...greedy.slice(1), newcomer].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
});

const WORKING = { isBusy: () => true, isWorking: () => true, movedBytes: () => 0, end: () => {} };

test("where all are busy, the newcomer is refused", async () => {
  const { port, problems, server } = await guarded(32);
  server.on("connection", (socket) => describeConnection(socket, WORKING));
  const sockets: Socket[] = [];
  for (let count = 0; count < 40; count++) sockets.push(await idle(port));
  expect(problems[0]).toEqual({ kind: "descriptors", max: 32, hasEnded: false });
  expect(await isReset(sockets.at(-1) as Socket)).toBe(true);
  expect(sockets[0]?.destroyed).toBe(false);
});

/** Connections of two clients, and what opens others inside of the process for them, of 256 descriptors. */
async function passing(openDescriptors: number) {
  const opened: Socket[] = [];
  const descriptors = new DescriptorReserve(() => ({ open: openDescriptors + 2 * opened.length, max: 256 }));
  const limit = new ConnectionLimit({ max: 0, onProblem: () => {}, descriptors });
  const clients: Socket[] = [];
  const server = createServer((socket) => void clients.push(socket.on("error", () => {})));
  const inside = createServer((socket) => void socket.on("error", () => {}));
  limit.guard(server);
  for (const one of [server, inside]) {
    onTestFinished(() => void one.close());
    await new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve));
  }
  const sockets = [];
  for (const address of ["127.0.0.2", "127.0.0.3"])
    sockets.push(await idle((server.address() as AddressInfo).port, address));
  await expect.poll(() => clients.length).toBe(2);
  const open = (client: Socket) =>
    limit.openInner(client, 1, () => {
      const socket = connectNet((inside.address() as AddressInfo).port, "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      opened.push(socket);
      return socket;
    });
  return { clients: clients as [Socket, Socket], sockets, open };
}

test("connections inside of the process are shared by the clients for which they are opened", async () => {
  const { clients, open } = await passing(0);
  const [greedy, modest] = clients;
  const ofGreedy = Array.from({ length: 32 }, () => open(greedy));
  expect(() => open(greedy)).toThrow(expect.objectContaining({ code: "resource_exhausted" }));
  const ofModest = Array.from({ length: 16 }, () => open(modest));
  expect(() => open(modest)).toThrow(/ulimit -n/);
  for (const socket of [...ofModest, ofGreedy[0]]) socket?.destroy();
  await expect.poll(() => open(greedy).destroyed).toBe(false);
});

test("connections inside of the process leave the reserve of descriptors alone, and idle ones make room for them", async () => {
  const { clients, sockets, open } = await passing(200);
  const openAll = () => {
    for (;;) open(clients[0]);
  };
  expect(openAll).toThrow(expect.objectContaining({ code: "unavailable" }));
  expect(await isReset(sockets[1] as Socket)).toBe(true);
  expect(sockets[0]?.destroyed).toBe(false);
});

async function openPort(server: Server, event: string) {
  const clients: TurnClient[] = [];
  const clientOf = (address: string) => (address === "127.0.0.4" ? undefined : address);
  new ConnectionLimit({ max: 0, onProblem: () => {}, clientOf }).guard(server);
  server.on(event, (socket: Socket) => void clients.push(turnClientOf(carrierSocketOf(socket))));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { clients, port: (server.address() as AddressInfo).port };
}

test("the connections of a client take their turns together, and each of a proxy takes its own", async () => {
  const { clients, port } = await openPort(createServer(), "connection");
  for (const address of ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.4", "127.0.0.4"]) await idle(port, address);
  expect(clients[0]).toBe(clients[2]);
  expect(new Set(clients).size).toBe(4);
});

test("encrypted connections of a client take their turns together", async () => {
  const server = createTlsServer({ cert: tlsFile("server.pem"), key: tlsFile("server.key") });
  const { clients, port } = await openPort(server, "secureConnection");
  for (let count = 0; count < 2; count++) {
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
    onTestFinished(() => void socket.destroy());
    await Promise.all([once(socket, "secureConnect"), once(server, "secureConnection")]);
  }
  expect(clients).toHaveLength(2);
  expect(clients[0]).toBe(clients[1]);
});

test("descriptors of this process are counted where the system tells", () => {
  const before = countDescriptors();
  if (process.platform !== "linux") return expect(before).toBeUndefined();
  const opened = Array.from({ length: 100 }, () => openSync("/dev/null", "r"));
  const grown = (countDescriptors()?.open ?? 0) - (before?.open ?? 0);
  for (const descriptor of opened) closeSync(descriptor);
  // Others of the process may come and go meanwhile.
  expect(Math.abs(grown - opened.length)).toBeLessThan(50);
  expect(before?.max).toBe(Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "latin1"))?.[1]));
});
