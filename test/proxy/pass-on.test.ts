import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { markPassedOn } from "../../src/platform/net/sockets.ts";
import { passOn } from "../../src/proxy/pass-on.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { serveHttp } from "./serve-http.ts";

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that passes requests on to one that reads and never answers. */
async function start() {
  const inner = createServer((socket) => void socket.on("error", () => {}).resume());
  const innerPort = await listen(inner);
  const { log, events } = createEventLog();
  const port = await listen(createHttpServer(passOn(() => connect(innerPort, "127.0.0.1"), log)));
  return { inner, port, events };
}

test("a client that leaves before the answer is no failure of the server", async () => {
  const { inner, port, events } = await start();
  const client = connect(port, "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const [passed] = await once(inner, "connection");
  client.destroy();
  await once(passed, "close");
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(events).toEqual([]);
});

/** The head with which a request of this line and these headers is passed on. */
async function passedHead(line: string, ...headers: string[]): Promise<string> {
  const { inner, port } = await start();
  const client = connect(port, "127.0.0.1");
  client.write([line, "host: x", ...headers, "", ""].join("\r\n"));
  const [passed] = await once(inner, "connection");
  const [head] = await once(passed, "data");
  client.destroy();
  return String(head);
}

test("a request that announces trailers without a body is passed on without them", async () => {
  const head = await passedHead("GET / HTTP/1.1", "trailer: a", "x-b: c");
  expect(head).toMatch(/x-b: c/);
  expect(head).not.toMatch(/trailer/i);
});

test("a request in HTTP/1.0 does not pass for one in HTTP/1.1, which only clients of this machine may send", async () => {
  expect(await passedHead("GET / HTTP/1.0")).toMatch(/\r\nvia: 1.0 kserving\r\n/);
});

test("a request whose head Node's client refuses is answered, where its server was told to take it", async () => {
  const { log } = createEventLog();
  const listener = passOn(() => connect(1, "127.0.0.1"), log);
  const client = connect(await listen(createHttpServer({ insecureHTTPParser: true }, listener)), "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n");
  const [answer] = await once(client, "data");
  client.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1.1 400 .*characters/s);
});

test("a request that has no room to be passed on is refused with the reason", async () => {
  const listener = passOn(() => {
    throw new ServingError("resource_exhausted", "no room");
  }, createEventLog().log);
  const answer = await fetch(`http://127.0.0.1:${await listen(createHttpServer(listener))}/`);
  expect([answer.status, await answer.text()]).toEqual([429, expect.stringContaining("no room")]);
});

test("a request is refused, and logged, where the other thread ends", async () => {
  const { inner, port, events } = await start();
  const answer = fetch(`http://127.0.0.1:${port}/`);
  const [passed] = await once(inner, "connection");
  passed.destroy();
  expect((await answer).status).toBe(503);
  expect(events).toHaveLength(1);
});

test("a request that the other thread does not answer has a line in the access log", async () => {
  const { log, find } = createEventLog();
  const lost = createServer((socket) => void socket.destroy());
  const port = await listen(lost);
  const passOn = () => connect(port, "127.0.0.1");
  const { url } = await serveHttp(new ScriptedService(), { passOn, accessLog: true, log });
  expect((await fetch(`${url}/metrics`, { headers: { "x-request-id": "lost" } })).status).toBe(503);
  expect(await find({ requestId: "lost", msg: "request" })).toMatchObject({ status: 503, path: "/metrics" });
});

/** A server that passes requests in parts on to one which never answers them; both report to one log. */
async function startHanging() {
  const { log, events, find } = createEventLog();
  const service = new ScriptedService(() => new Promise(() => {}));
  const inner = await serveHttp(service, { port: "shared", accessLog: true, log });
  const passed: Socket[] = [];
  const port = await listen(
    createServer((socket) => {
      passed.push(socket);
      inner.accept(markPassedOn(socket));
    }),
  );
  const { url } = await serveHttp(service, { passOn: () => connect(port, "127.0.0.1"), accessLog: true, log });
  const client = new AbortController();
  const body = JSON.stringify({ text_input: "a" });
  const headers = { "x-request-id": "hung" };
  const { signal } = client;
  const answer = fetch(`${url}/v2/models/m/generate_stream`, { method: "POST", body, headers, signal });
  answer.catch(() => {});
  await expect.poll(() => service.requests.length).toBe(1);
  const lines = () => events.filter(({ requestId, msg }) => requestId === "hung" && msg === "request");
  return { inner, answer, client, passed, lines, find };
}

test("a request that the other thread has begun and drops has one line in the log, as its client was answered", async () => {
  const { inner, answer, lines, find } = await startHanging();
  await inner.close(0);
  expect((await answer).status).toBe(503);
  await find({ requestId: "hung", status: 503, msg: "request" });
  expect(lines()).toHaveLength(1);
});

test("a request whose client leaves after the other thread has begun it has one line in the log", async () => {
  const { client, passed, lines, find } = await startHanging();
  const closed = once(passed[0] as Socket, "close");
  client.abort();
  await closed;
  await find({ requestId: "hung", status: 499, msg: "request" });
  expect(lines()).toHaveLength(1);
});
