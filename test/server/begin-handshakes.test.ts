import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { connect as connectTls, createServer, type Server } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { beginHandshakes } from "../../src/server/tls-port.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { useUpTheTurn } from "../platform/limits/use-up-the-turn.ts";

/** A server, and what happens to its connections: they come, begin their handshakes, or are given up. */
async function serve({ onBegin = () => {} } = {}) {
  const events: string[] = [];
  const server = createServer({ cert: tlsFile("server.pem"), key: tlsFile("server.key") });
  server.prependListener("connection", () => {
    events.push("begun");
    onBegin();
  });
  beginHandshakes(server);
  server.on("connection", () => events.push("come"));
  server.on("tlsClientError", ({ message }) => events.push(message));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { server, events, count: (event: string) => events.filter((each) => each === event).length };
}

function open(server: Server): Socket {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** The first record of a client. */
function firstRecord(): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read: () => {}, write: (bytes: Buffer) => resolve(bytes) });
    connectTls({ socket, host: "localhost" }).on("error", () => {});
  });
}

test("handshakes whose first records come together begin in turns", async () => {
  const perTurn: number[] = [];
  const onBegin = () => {
    perTurn[perTurn.length - 1]!++;
    useUpTheTurn();
  };
  const { server, count } = await serve({ onBegin });
  const clients = Array.from({ length: 20 }, () => open(server));
  await expect.poll(() => count("come")).toBe(clients.length);
  const record = await firstRecord();
  for (const client of clients) client.write(record);
  while (count("begun") < clients.length) {
    perTurn.push(0);
    await nextTurn();
  }
  expect(Math.max(...perTurn)).toBeLessThan(4);
});

test("a first record that comes byte by byte is waited for, and answered", async () => {
  const { server, events } = await serve();
  const client = open(server).setNoDelay(true);
  const record = await firstRecord();
  await once(client, "connect");
  for (const byte of record.subarray(0, -1)) {
    client.write(Buffer.of(byte));
    await nextTurn();
  }
  expect(events).toEqual(["come"]);
  client.write(record.subarray(-1));
  const [answer] = (await once(client, "data")) as [Buffer];
  expect(answer[0]).toBe(0x16);
});

test("what is not TLS is refused by TLS itself", async () => {
  const { server, events } = await serve();
  open(server).write("GET / HTTP/1.1\r\n\r\n");
  await expect.poll(() => events).toEqual(["come", "begun", expect.stringMatching(/http request|wrong version/)]);
});

test("a client that leaves before its first record is whole is told, and harms nothing", async () => {
  const { server, events } = await serve();
  open(server).end("\x16\x03");
  await expect.poll(() => events.at(-1)).toBe("the client closed the connection before its handshake");
  const reset = open(server);
  reset.write("\x16");
  await expect.poll(() => events.filter((event) => event === "come").length).toBe(2);
  await nextTurn();
  reset.resetAndDestroy();
  await expect.poll(() => events.at(-1)).toContain("ECONNRESET");
});

test("a probe, which connects and says nothing, is no client that fails", async () => {
  const { server, events } = await serve();
  const [probe, reset] = [open(server), open(server)];
  await expect.poll(() => events.length).toBe(2);
  probe.end();
  reset.resetAndDestroy();
  await once(probe, "close");
  open(server).end("\x16\x03");
  await expect.poll(() => events.at(-1)).toBe("the client closed the connection before its handshake");
  expect(events).toEqual(["come", "come", "come", events.at(-1)]);
});
