import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connectInner, listenInner } from "../../../src/server/listeners/inner-socket.ts";

async function start() {
  const taken: { readonly socket: Socket; readonly isHttp2: boolean }[] = [];
  const take = (isHttp2: boolean) => (socket: Socket) => void taken.push({ socket, isHttp2 });
  const inner = await listenInner({ http1: take(false), http2: take(true) });
  onTestFinished(() => inner.close());
  return { inner, taken };
}

/** The server's end of a connection. */
async function clientSocket(): Promise<Socket> {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  const client = connect(port, "127.0.0.1");
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return accepted;
}

test.runIf(process.platform === "linux")(
  "a connection that is passed on is known by its client's address, and nothing of it is lost",
  async () => {
    const { inner, taken } = await start();
    const client = await clientSocket();
    const passed = connectInner(inner, client, true);
    passed.write("PRI first bytes");
    await expect.poll(() => taken.length).toBe(1);
    const { socket, isHttp2 } = taken[0] as (typeof taken)[number];
    expect([isHttp2, socket.remoteAddress, socket.remotePort]).toEqual([true, "127.0.0.1", client.remotePort]);
    expect([socket.localAddress, socket.localPort]).toEqual(["127.0.0.1", client.localPort]);
    expect("encrypted" in socket).toBe(false);
    const bytes = new Promise((resolve) => socket.once("data", (data) => resolve(String(data))));
    expect(await bytes).toBe("PRI first bytes");
    passed.destroy();
    socket.destroy();
  },
);

test.runIf(process.platform === "linux")("a client's certificate is read once, however much it passes on", async () => {
  const { inner, taken } = await start();
  let reads = 0;
  const certificate = { subject: { CN: "client" }, subjectaltname: "DNS:client.example" };
  const getPeerCertificate = () => {
    reads++;
    return certificate;
  };
  const client = Object.assign(await clientSocket(), { authorized: true, getPeerCertificate });
  const passed = Array.from({ length: 3 }, () => connectInner(inner, client, false));
  await expect.poll(() => taken.length).toBe(3);
  const known = taken.map(({ socket }) => (socket as typeof client).getPeerCertificate());
  for (const socket of [...passed, ...taken.map((one) => one.socket)]) socket.destroy();
  expect([reads, ...known]).toEqual([1, certificate, certificate, certificate]);
});

test.runIf(process.platform === "linux")("connections wait while the main thread is busy", async () => {
  const { inner, taken } = await start();
  const client = await clientSocket();
  // None is accepted before this turn ends.
  const passed = Array.from({ length: 1000 }, () => connectInner(inner, client, false));
  const failed: unknown[] = [];
  for (const socket of passed) socket.on("error", (reason) => failed.push(reason));
  await expect.poll(() => taken.length + failed.length).toBe(1000);
  for (const socket of [...passed, ...taken.map((one) => one.socket)]) socket.destroy();
  expect(failed).toEqual([]);
});

test.runIf(process.platform === "linux").each([
  ["nothing that is one", "GET / HTTP/1.1\n"],
  ["an empty line", "\n"],
  ["a wrong secret", `${"0".repeat(64)}{"isHttp2":true,"address":"10.0.0.1"}\n`],
  ["a line without end", "x".repeat(70_000)],
])("a program that sends %s is not let in, and ends nothing", async (_, text) => {
  const { inner, taken } = await start();
  const stranger = connect(inner.path).on("error", () => {});
  stranger.resume().end(text);
  await new Promise((resolve) => stranger.once("close", resolve));
  expect(taken).toEqual([]);
});
