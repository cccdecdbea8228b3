import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import {
  connect as connectTls,
  createServer,
  DEFAULT_CIPHERS,
  DEFAULT_ECDH_CURVE,
  type Server,
  type TLSSocket,
} from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { stoppedAt } from "../../src/platform/net/node-members.ts";
import { endStopped, listenTls } from "../../src/server/tls-port.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { answerInTwoWrites, shortestAnswer } from "../platform/net/delayed-acknowledgement.ts";

const LOOK_MS = 50;

async function serve(): Promise<Server> {
  const server = createServer({ cert: tlsFile("server.pem"), key: tlsFile("server.key"), allowHalfOpen: true });
  endStopped(server, LOOK_MS);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return server;
}

function opened(server: Server): Promise<TLSSocket> {
  return once(server, "secureConnection").then(([socket]) => socket.on("error", () => {}));
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/**
 * A client that resets its connection right after the last bytes of its handshake: the
 * server's next write fails at once.
 */
function resetAfterHandshake(port: number): void {
  const carrier = connect(port, "127.0.0.1").on("error", () => {});
  let flights = 0;
  const write = (bytes: Buffer, _encoding: string, done: () => void) => {
    carrier.write(bytes);
    if (++flights === 2) carrier.resetAndDestroy();
    done();
  };
  const transport = new Duplex({ read: () => {}, write });
  carrier.on("data", (bytes) => transport.push(bytes));
  connectTls({ socket: transport, rejectUnauthorized: false }).on("error", () => {});
}

test("a connection whose first write after the handshake failed is closed", async () => {
  const server = await serve();
  const connection = opened(server);
  resetAfterHandshake(portOf(server));
  const socket = await connection;
  // Only then TLS has tried to write its own.
  await nextTurn();
  socket.write("an answer that is never sent");
  await once(socket, "close");
});

test("a connection whose client reads nothing for a while stays open", async () => {
  const server = await serve();
  const connection = opened(server);
  const client = connectTls({ port: portOf(server), rejectUnauthorized: false }).on("error", () => {});
  onTestFinished(() => void client.destroy());
  const socket = await connection;
  const sent = new Promise<void>((resolve) => socket.write(Buffer.alloc(20_000_000), () => resolve()));
  await wait(6 * LOOK_MS);
  expect([socket.destroyed, socket.writableLength > 0, stoppedAt(socket)]).toEqual([false, true, undefined]);
  client.resume();
  await sent;
  expect(socket.destroyed).toBe(false);
});

test.each(["http/1.1", "h2"])("an encrypted connection of %s sends small writes at once", async (protocol) => {
  const ciphers = { ciphers: DEFAULT_CIPHERS, ecdhCurve: DEFAULT_ECDH_CURVE };
  const credentials = { cert: tlsFile("server.pem"), key: tlsFile("server.key"), ...ciphers };
  const users = { http1: answerInTwoWrites, http2: answerInTwoWrites, credentials, onRefused: () => {} };
  const { port, close } = await listenTls({ host: "127.0.0.1", port: 0 }, users);
  onTestFinished(() => close());
  const client = connectTls({ port, ALPNProtocols: [protocol], rejectUnauthorized: false }).setNoDelay();
  onTestFinished(() => void client.destroy());
  await once(client, "secureConnect");
  expect(await shortestAnswer(client)).toBeLessThan(20);
});
