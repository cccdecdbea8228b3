import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { Client, credentials } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { createServer } from "../../src/server/server.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { RawClient } from "./raw-client.ts";
import { serveHttp } from "./serve-http.ts";

const BODY = '{"inputs":[1]}';
const SIZED = `content-length: ${BODY.length}\r\n\r\n${BODY}`;
const CHUNKED = `\r\n\r\ne\r\n${BODY}\r\n0\r\n\r\n`;
const PREDICT = "POST /v1/models/m:predict";
const GET = "GET /health";

async function send(text: string) {
  const service = new ScriptedService();
  const { port } = await serveHttp(service);
  const client = new RawClient(port);
  client.write(text);
  return { service, client };
}

describe("the head of a request", () => {
  it.each([
    [505, "HTTP/2.0", `${GET} HTTP/2.0\r\nHost: x\r\n\r\n`],
    [505, "HTTP/0.9", `${GET}\r\n\r\n`],
    [505, "a version that there is not", `${GET} HTTP/1.2\r\nHost: x\r\n\r\n`],
    [400, "two Host headers", `${GET} HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n`],
    [400, "a second Host after 2500 headers", `${GET} HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(2500)}Host: y\r\n\r\n`],
    [
      400,
      "a second Host that asks to be continued",
      `${PREDICT} HTTP/1.1\r\nHost: x\r\nHost: y\r\nExpect: 100-continue\r\n${SIZED}`,
    ],
    [400, "no Host", `${GET} HTTP/1.1\r\n\r\n`],
    [400, "two hosts in one header", `${GET} HTTP/1.1\r\nHost: x, y\r\n\r\n`],
    [400, "a Host with a path", `${GET} HTTP/1.1\r\nHost: x/y\r\n\r\n`],
    [400, "a Host with a user", `${GET} HTTP/1.1\r\nHost: a@x\r\n\r\n`],
    [
      400,
      "Transfer-Encoding and Content-Length",
      `${PREDICT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${SIZED}`,
    ],
    [400, "two lengths", `${PREDICT} HTTP/1.1\r\nHost: x\r\ncontent-length: 14\r\n${SIZED}`],
    [501, "an encoding beside chunked", `${PREDICT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked${CHUNKED}`],
    [400, "chunks in HTTP/1.0", `${PREDICT} HTTP/1.0\r\nTransfer-Encoding: chunked${CHUNKED}`],
    [400, "line feeds alone", `${GET} HTTP/1.1\nHost: x\n\n`],
    [400, "a folded header", `${GET} HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n`],
    [400, "a space before a colon", `${GET} HTTP/1.1\r\nHost : x\r\n\r\n`],
    [400, "a method that there is not", "FOO /health HTTP/1.1\r\nHost: x\r\n\r\n"],
    [
      400,
      "a Host among the trailers",
      `${PREDICT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n${BODY}\r\n0\r\nHost: y\r\nContent-Length: 3\r\n\r\n`,
    ],
    [431, "too many bytes", `${GET} HTTP/1.1\r\nHost: x\r\n${"a: b\r\n".repeat(20_000)}\r\n`],
    [405, "CONNECT", "CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n"],
  ])("is answered with %i for %s, and the connection closes", async (status, _, text) => {
    const { service, client } = await send(text);
    const answer = await client.closed();
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"error": "[^"]+"`));
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(service.requests.every(({ signal }) => signal.aborted)).toBe(true);
  });

  it.each([
    ["an empty Host", `${PREDICT} HTTP/1.1\r\nHost:\r\n${SIZED}`],
    ["an IPv6 Host", `${PREDICT} HTTP/1.1\r\nHost: [::1]:9001\r\n${SIZED}`],
    ["no Host in HTTP/1.0", `${PREDICT} HTTP/1.0\r\n${SIZED}`],
    ["a whole URL, as proxies are sent", `POST http://x:80/v1/models/m:predict HTTP/1.1\r\nHost: y\r\n${SIZED}`],
    [
      "an upgrade that is passed over",
      `${PREDICT} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${SIZED}`,
    ],
    [
      "trailers",
      `${PREDICT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n${BODY}\r\n0\r\nA: b\r\n\r\n`,
    ],
  ])("may have %s", async (_, text) => {
    const { client } = await send(text);
    expect(await client.received(/"outputs"/)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

it("a whole URL's host counts in place of the Host header", async () => {
  const { service, client } = await send(`POST http://a:1/v1/models/m:predict HTTP/1.1\r\nHost: b\r\n${SIZED}`);
  await client.received(/"outputs"/);
  expect(service.requests[0]?.metadata).toMatchObject({ host: "a:1" });
});

it.each([
  ["an encoding that is not known", "1.1", "xchunked"],
  ["chunks in HTTP/1.0", "1.0", "chunked"],
])("what follows a head that is refused for %s gets no second answer", async (_, version, encoding) => {
  const { port } = await serveHttp(new ScriptedService());
  const client = new RawClient(port);
  const head = `POST /v1/models/m:predict HTTP/${version}\r\nHost: x\r\nTransfer-Encoding: ${encoding}\r\n\r\n`;
  client.write(`${head}11\r\n{"instances":[1]}\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect((await client.closed()).match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
});

it("a URL that is too long is refused as the head that it is part of", async () => {
  const { port } = await serveHttp(new ScriptedService());
  const client = new RawClient(port);
  client.write(`GET /${"a".repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(await client.closed()).toMatch(/^HTTP\/1\.1 431 /);
});

it("a body that comes in drops is refused in time, and its bytes are given back, while others are answered", async () => {
  const memory = new MemoryBudget(10_000);
  const { port, url } = await serveHttp(new ScriptedService(), { arrivalTimeoutMs: 300, memory });
  const slow = new RawClient(port);
  slow.write(`${PREDICT} HTTP/1.1\r\nHost: x\r\ncontent-length: 5000\r\n\r\n{`);
  const statuses: number[] = [];
  const drops = setInterval(() => slow.write(" "), 20);
  onTestFinished(() => clearInterval(drops));
  while (!slow.socket.destroyed) {
    const answer = await fetch(`${url}/v1/models/m:predict`, { method: "POST", body: BODY });
    statuses.push(answer.status);
    await answer.text();
  }
  expect(await slow.closed()).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*"error"/);
  expect([...new Set(statuses)]).toEqual([200]);
  await expect.poll(() => memory.heldBytes).toBe(0);
});

it("a request whose body does not come in time has one line in the log, with its status and path", async () => {
  const { log, events, find } = createEventLog();
  const { port } = await serveHttp(new ScriptedService(), { arrivalTimeoutMs: 300, accessLog: true, log });
  const slow = new RawClient(port);
  slow.write(`${PREDICT} HTTP/1.1\r\nHost: x\r\nx-request-id: slow\r\ncontent-length: 5000\r\n\r\n{`);
  expect(await slow.closed()).toMatch(/^HTTP\/1\.1 408 /);
  expect(await find({ status: 408 })).toMatchObject({ requestId: "slow", path: "/v1/models/m:predict" });
  expect(events.filter(({ msg }) => msg === "request")).toHaveLength(1);
});

it("a request whose client ends in the middle of its body has one line in the log, as one that was left", async () => {
  const { log, events, find } = createEventLog();
  const { port } = await serveHttp(new ScriptedService(), { accessLog: true, log });
  const client = new RawClient(port);
  client.write(`${PREDICT} HTTP/1.1\r\nHost: x\r\nx-request-id: left\r\ncontent-length: 5000\r\n\r\n{`);
  client.socket.end();
  await client.closed();
  await find({ requestId: "left", status: 499 });
  expect(events.filter(({ msg }) => msg === "request")).toHaveLength(1);
});

it.each(["", "P", "POST / HTTP/1.1\r\nhost"])(
  "a client that sends %j and no more is disconnected in time",
  async (text) => {
    const { port } = await serveHttp(new ScriptedService(), { handshakeTimeoutMs: 100 });
    const client = new RawClient(port);
    client.write(text);
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 408 /);
  },
);

test("a connection that began with HTTP/1.1 does not go on with HTTP/2", async () => {
  const { client } = await send(`${GET} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await client.received(/"ok"/);
  client.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  expect((await client.closed()).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
});

test("a client that begins TLS at a port without it is logged once", async () => {
  const { log, events } = createEventLog();
  const server = await createServer({ stages: [{ driver: "null" }], port: 0, http: { port: 0 }, log });
  onTestFinished(() => server.close());
  for (let each = 0; each < 2; each++) {
    const socket = connectTls(Number(new URL(`${server.httpUrl}`).port), "127.0.0.1", { servername: "localhost" });
    await expect(once(socket, "secureConnect")).rejects.toThrow(/wrong version number|packet length|ECONNRESET/);
  }
  expect(events.filter(({ level }) => level === "warn")).toMatchObject([
    { msg: expect.stringMatching(/^a client of the HTTP port begins TLS, which .* --tls-cert and --tls-key$/) },
  ]);
});

test("a client of gRPC at the port of HTTP is told the port of gRPC, and logged once", async () => {
  const { log, events } = createEventLog();
  const server = await createServer({ stages: [{ driver: "null" }], port: 0, http: { port: 0 }, log });
  onTestFinished(() => server.close());
  const port = `${server.grpcAddress}`.split(":").at(-1);
  const client = new Client(new URL(`${server.httpUrl}`).host, credentials.createInsecure());
  onTestFinished(() => client.close());
  const method = "/inference.GRPCInferenceService/ServerLive";
  for (let each = 0; each < 2; each++) {
    const error = await new Promise<unknown>((resolve) =>
      client.makeUnaryRequest(method, Buffer.from, Buffer.from, Buffer.alloc(0), resolve),
    );
    expect(error).toMatchObject({ code: 12, details: `This port serves HTTP: gRPC is served on port ${port}.` });
  }
  const about = events.filter(({ msg }) => String(msg).includes("gRPC"));
  expect(about).toMatchObject([
    { level: "warn", msg: `a client of the HTTP port speaks gRPC: gRPC is served on port ${port}` },
  ]);
});
