import { createServer } from "node:http";
import { type AddressInfo, connect, Server, Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { discardInTurns, openInTurns } from "../../../src/platform/net/open-in-turns.ts";
import { useUpTheTurn } from "../limits/use-up-the-turn.ts";

const SENT = 2_000_000;

function serverThatNotes() {
  const server = new Server();
  const opened: Socket[] = [];
  server.on("connection", (socket) => opened.push(socket));
  openInTurns(server);
  return { server, opened };
}

test("a connection that comes in a full turn is opened in a later one", async () => {
  const { server, opened } = serverThatNotes();
  const accepted: Socket[] = [];
  server.on("connection", (socket) => accepted.push(socket));
  const socket = new Socket();
  await nextTurn();
  useUpTheTurn();
  server.emit("connection", socket);
  expect({ opened, accepted }).toEqual({ opened: [], accepted: [socket] });
  await expect.poll(() => opened).toEqual([socket]);
});

test("no socket is made of connections that come in a full turn, until a later one", async () => {
  const { server, opened } = serverThatNotes();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const perTurn: number[] = [];
  server.on("connection", () => {
    perTurn[perTurn.length - 1]!++;
    useUpTheTurn();
  });
  const clients = Array.from({ length: 20 }, () => connect(port, "127.0.0.1"));
  for (const client of clients) onTestFinished(() => void client.destroy());
  while (opened.length < clients.length) {
    perTurn.push(0);
    await nextTurn();
  }
  expect(Math.max(...perTurn)).toBeLessThan(4);
});

test("a connection that waits when its server closes is closed", async () => {
  const { server, opened } = serverThatNotes();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  server.on("connection", () => {
    useUpTheTurn();
    server.close();
  });
  const clients = Array.from({ length: 3 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  onTestFinished(() => void opened.map((socket) => socket.destroy()));
  await expect.poll(() => clients.filter(({ destroyed }) => destroyed).length).toBe(2);
  expect(opened.length).toBe(1);
});

test("one that breaks while it waits is not opened, and harms nothing", async () => {
  const { server, opened } = serverThatNotes();
  const [broken, sound] = [new Socket(), new Socket()];
  await nextTurn();
  useUpTheTurn();
  server.emit("connection", broken);
  server.emit("connection", sound);
  broken.destroy(new Error("reset"));
  await expect.poll(() => opened).toEqual([sound]);
});

test("what has arrived before a connection is opened is read", async () => {
  const server = createServer((request, response) => response.end(`${request.url} was asked`));
  openInTurns(server);
  server.prependListener("connection", useUpTheTurn);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET /early HTTP/1.0\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += chunk;
  expect(text).toMatch(/^HTTP\/1.1 200 [\s\S]*\/early was asked$/);
});

/** Two reads of a socket; Node makes 32 of them before it does anything else. */
const MOST_PER_TURN = 2 * 64 * 1024;

test("what a client still sends is discarded a little in each full turn, and all in the end", async () => {
  const server = new Server();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.write(Buffer.alloc(SENT));
  const socket = await new Promise<Socket>((resolve) => server.once("connection", resolve));
  discardInTurns(socket);
  const perTurn: number[] = [];
  for (let before = 0; before < SENT; before = socket.bytesRead) {
    useUpTheTurn();
    await nextTurn();
    perTurn.push(socket.bytesRead - before);
  }
  expect(socket.bytesRead).toBe(SENT);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(MOST_PER_TURN);
});
