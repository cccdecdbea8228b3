import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RequestTracer } from "../../src/observability/request-tracer.ts";
import { createDeferred } from "../../src/platform/async/promises.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { limitSilence, OpenExchanges } from "../../src/proxy/open-exchanges.ts";
import { echo, ScriptedService } from "../grpc/scripted-service.ts";
import { tempFolder } from "../helpers/temp-folder.ts";
import { tlsFile } from "../helpers/tls-fixture.ts";
import { hasRoom } from "../platform/limits/memory/has-room.ts";
import { useUpTheTurn } from "../platform/limits/use-up-the-turn.ts";
import { RawClient } from "./raw-client.ts";
import { serveHttp } from "./serve-http.ts";

function ask(body: string): string {
  return `POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Statuses and predictions in the order in which they came. */
function answers(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d+)[\s\S]*?"predictions": \[(\d+)/g)].map(
    ([, status, value]) => `${status} ${value}`,
  );
}

describe("requests that a client sends ahead of their answers", () => {
  it("are answered in their order, however many come at once", async () => {
    const { port } = await serveHttp(new ScriptedService());
    const client = new RawClient(port);
    const numbers = Array.from({ length: 500 }, (_, index) => index);
    client.write(numbers.map((number) => ask(`{"instances":[${number}]}`)).join(""));
    const text = await client.received(/"predictions": \[499/);
    expect(answers(text)).toEqual(numbers.map((number) => `200 ${number}`));
  });

  it("are begun a few at a time", async () => {
    const gate = createDeferred<void>();
    let begun = 0;
    const service = new ScriptedService(async (request) => {
      begun++;
      await gate.promise;
      return echo(request);
    });
    const { port } = await serveHttp(service);
    const [many, other] = [new RawClient(port), new RawClient(port)];
    many.write(ask('{"instances":[1]}').repeat(100));
    await expect.poll(() => begun).toBeGreaterThan(0);
    other.write(ask('{"instances":[2]}'));
    await expect.poll(() => begun).toBe(5);
    gate.resolve();
  });

  it("are read a few at a time on a connection that was accepted in a full turn", async () => {
    let read = 0;
    const tracer = { begin: () => void read++ } as unknown as RequestTracer;
    const service = new ScriptedService(() => new Promise(() => {}));
    const server = await serveHttp(service, { port: "shared", tracer });
    const front = createNetServer(async (socket) => {
      await nextTurn();
      useUpTheTurn();
      server.accept(socket);
    });
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
    onTestFinished(() => void front.close());
    const client = new RawClient((front.address() as AddressInfo).port);
    client.write(ask('{"instances":[1]}').repeat(600));
    await expect.poll(() => read).toBeGreaterThan(0);
    await sleep(50);
    expect(read).toBeLessThan(300);
  });

  it("give back what they held when the client leaves", async () => {
    const entered = createDeferred<void>();
    const service = new ScriptedService(({ signal }) => {
      entered.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    });
    const memory = new MemoryBudget(1_000_000);
    const { port } = await serveHttp(service, { memory });
    const client = new RawClient(port);
    client.write(ask(`{"instances":[${"1,".repeat(50_000)}1]}`).repeat(3));
    await entered.promise;
    client.socket.destroy();
    const share = memory.open();
    share.grow(1);
    const hasRoom = () => {
      try {
        share.check(999_000);
        return true;
      } catch {
        return false;
      }
    };
    await expect.poll(hasRoom).toBe(true);
  });

  it("do not keep another client waiting", async () => {
    let calls = 0;
    let before = 0;
    const service = new ScriptedService((request) => {
      calls++;
      if (request.metadata["x-other"] !== undefined) before = calls;
      return echo(request);
    });
    const { port } = await serveHttp(service);
    const many = Buffer.from(ask('{"instances":[1]}').repeat(5000));
    for (let index = 0; index < 5; index++) {
      const socket = connect(port, "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {}).resume();
      await once(socket, "connect");
      socket.write(many);
    }
    const other = new RawClient(port);
    await once(other.socket, "connect");
    other.write(ask('{"instances":[2]}').replace("Host: x", "Host: x\r\nX-Other: 1"));
    await other.received(/200 OK/);
    expect(before).toBeLessThan(5000);
  });
});

describe("a body", () => {
  it("arrives as it was sent, whatever comes before and after it in the same read", async () => {
    const { port } = await serveHttp(new ScriptedService());
    const client = new RawClient(port);
    const large = `{"instances":[${Array.from({ length: 40_000 }, (_, index) => index).join(",")}]}`;
    const chunked = `POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${[...'{"instances":[7]}'].map((letter) => `1\r\n${letter}\r\n`).join("")}0\r\n\r\n`;
    client.write(ask('{"instances":[5]}') + ask(large) + chunked + ask('{"instances":[6]}'));
    const text = await client.received(/"predictions": \[6/);
    expect(answers(text)).toEqual(["200 5", "200 0", "200 7", "200 6"]);
    const [, numbers = ""] = /"predictions": \[(0,[^\]]*)\]/.exec(text) ?? [];
    expect(numbers.split(",").map(Number)).toEqual(Array.from({ length: 40_000 }, (_, index) => index));
  });
});

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
