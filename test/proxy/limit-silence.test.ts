import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { limitSilence } from "../../src/proxy/limit-silence.ts";
import { OpenExchanges } from "../../src/proxy/open-exchanges.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { hasRoom } from "../platform/limits/memory/has-room.ts";
import { RawClient } from "./raw-client.ts";
import { serveHttp } from "./serve-http.ts";

/** More than a connection's buffers hold on their way to a client that does not read. */
const ANSWER_BYTES = 20_000_000;
const TLS = { cert: tlsFile("server.pem"), key: tlsFile("server.key") };
const ASK = "POST /serving-proxy HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";

async function start(sendTimeoutMs: number) {
  const json = Buffer.from(JSON.stringify("x".repeat(ANSWER_BYTES)));
  const answer = { model: "m", version: 1n, signature: "s", metadata: {}, outputs: { kind: "json", json } as const };
  const memory = new MemoryBudget(2 * ANSWER_BYTES);
  const server = await serveHttp(new ScriptedService(() => answer), { memory, sendTimeoutMs });
  const ask = () => {
    const socket = connect(server.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).pause();
    socket.write(ASK);
    return socket;
  };
  return { memory, server, ask };
}

async function readAll(socket: Socket): Promise<number> {
  let bytes = 0;
  for await (const chunk of socket) {
    bytes += (chunk as Buffer).length;
    if (bytes > ANSWER_BYTES) break;
  }
  return bytes;
}

describe("an answer that is not taken", () => {
  it("is counted until it has been sent, and others that need room are refused", async () => {
    const { memory, server, ask } = await start(0);
    const unread = ask();
    await expect.poll(() => hasRoom(memory, 1.5 * ANSWER_BYTES)).toBe(false);
    const refused = [ask(), ask()].map((socket) =>
      once(socket.setEncoding("latin1"), "readable").then(() => socket.read(12)),
    );
    expect(await Promise.race(refused)).toMatch(/^HTTP\/1\.1 (?:200|503)/);
    const answer = await fetch(`${server.url}/serving-proxy`, { method: "POST", body: "{}" });
    expect(answer.status).toBe(503);
    expect(await readAll(unread)).toBeGreaterThan(ANSWER_BYTES);
  });

  it("is given up when its client leaves", async () => {
    const { memory, ask } = await start(0);
    const unread = ask();
    await expect.poll(() => hasRoom(memory, 1.5 * ANSWER_BYTES)).toBe(false);
    unread.destroy();
    await expect.poll(() => hasRoom(memory, 2 * ANSWER_BYTES - 1)).toBe(true);
  });

  it("is cut after a time", async () => {
    const { memory, ask } = await start(100);
    ask();
    await expect.poll(() => hasRoom(memory, 1.5 * ANSWER_BYTES)).toBe(false);
    await expect.poll(() => hasRoom(memory, 2 * ANSWER_BYTES - 1)).toBe(true);
  });

  it.each(["an encrypted connection", "a Unix socket"])("is cut after a time on %s too", async (kind) => {
    const { memory, server } = await start(100);
    const isEncrypted = kind !== "a Unix socket";
    const front = isEncrypted ? createTlsServer(TLS, server.accept) : createNetServer(server.accept);
    const path = join(tempFolder(), "http.sock");
    await new Promise<void>((resolve) =>
      front.listen(isEncrypted ? { host: "127.0.0.1", port: 0 } : { path }, resolve),
    );
    onTestFinished(() => void front.close());
    const place = isEncrypted ? { ...(front.address() as AddressInfo), rejectUnauthorized: false } : { path };
    const client = isEncrypted ? connectTls(place) : connect(place as { path: string });
    onTestFinished(() => void client.destroy());
    client.on("error", () => {}).pause();
    client.write(ASK);
    await expect.poll(() => hasRoom(memory, 1.5 * ANSWER_BYTES)).toBe(false);
    await expect.poll(() => hasRoom(memory, 2 * ANSWER_BYTES - 1)).toBe(true);
    await expect.poll(() => new Promise((resolve) => front.getConnections((_, open) => resolve(open)))).toBe(0);
  });
});

describe("a connection that is kept alive", () => {
  async function serve(keepAliveMs: number) {
    const server = createServer((_request, response) => response.end("ok"));
    const exchanges = new OpenExchanges();
    server.on("connection", (socket) => exchanges.connect(socket));
    limitSilence(server, exchanges, { sendTimeoutMs: 0, keepAliveMs, graceMs: 100 });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return new RawClient((server.address() as AddressInfo).port);
  }

  const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

  it("tells its client how long, and is closed some time after", async () => {
    const client = await serve(1000);
    client.write(GET);
    expect(await client.received(/ok/)).toContain("Keep-Alive: timeout=1");
    await client.closed();
  });

  it("answers a request that came while the server was busy for longer than that", async () => {
    const client = await serve(50);
    client.write(GET);
    await client.received(/ok/);
    const sent = new Promise<void>((resolve) => client.socket.write(GET, () => resolve()));
    // Node's timers then find the time over before the request is read.
    for (const end = performance.now() + 400; performance.now() < end; );
    await sent;
    expect(await client.received(/ok.*ok/s)).toMatch(/ok.*ok/s);
  });
});
