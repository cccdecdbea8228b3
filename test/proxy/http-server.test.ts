import { once } from "node:events";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRemoteService } from "../../src/client/remote/remote-service.ts";
import { ServingError } from "../../src/errors.ts";
import { createSilentLogger, type Logger } from "../../src/observability/logger.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { createHttpServer } from "../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { startServer } from "../helpers/start-server.ts";
import { GatedService } from "./gated-service.ts";
import { RawClient } from "./raw-client.ts";
import { serveHttp } from "./serve-http.ts";

const PREDICT = "/v1/models/m:predict";
const BODY = '{"inputs": [1, 2]}';

function post(url: string, body: string | Buffer = BODY, headers: Record<string, string> = {}) {
  return fetch(url + PREDICT, { method: "POST", body, headers });
}

function head(...lines: readonly string[]): string {
  return `${[`POST ${PREDICT} HTTP/1.1`, "Host: x", ...lines].join("\r\n")}\r\n\r\n`;
}

describe("createHttpServer", () => {
  test("listens on a free port and says where", async () => {
    const { url, port } = await serveHttp(new ScriptedService());
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect((await post(url)).status).toBe(200);
  });

  test("writes an IPv6 address as a URL does", async () => {
    const { url, port } = await serveHttp(new ScriptedService(), { host: "::1" });
    expect(url).toBe(`http://[::1]:${port}`);
    expect((await post(url)).status).toBe(200);
  });

  test("says when the port is in use", async () => {
    const { port } = await serveHttp(new ScriptedService());
    await expect(serveHttp(new ScriptedService(), { port })).rejects.toMatchObject({
      code: "unavailable",
      message: `Cannot listen on 127.0.0.1:${port}: the port is in use; choose another, or 0 for any free one.`,
    });
  });

  test("lists what there is to those who look elsewhere, and gives nothing of itself away", async () => {
    const { httpUrl } = await startServer({ stages: [{ driver: "null" }] });
    const response = await fetch(`${httpUrl}/v4/models`);
    expect(response.status).toBe(404);
    expect([response.headers.get("x-powered-by"), response.headers.get("etag")]).toEqual([null, null]);
    const { error } = (await response.json()) as { error: string };
    expect(error).toMatch(
      /^There is no GET \/v4\/models here\. Did you mean "GET \/v1\/models"\? There is POST \/predict.*, POST \/serving-proxy, .*GET \/health, GET \/llms.txt, GET \/metrics, .*\.$/,
    );
  });

  test("survives a path that is not percent-encoded", async () => {
    const { url } = await serveHttp(new ScriptedService());
    expect((await fetch(`${url}/%zz/%`)).status).toBe(404);
  });

  test("tells its health", async () => {
    const service = new ScriptedService();
    const { url } = await serveHttp(service);
    const health = async () => {
      const response = await fetch(`${url}/health`);
      return [response.status, await response.json()];
    };
    expect(await health()).toEqual([200, { status: "ok" }]);
    service.setReady(false);
    expect(await health()).toEqual([503, { status: "unavailable" }]);
    expect((await fetch(`${url}/health`, { method: "HEAD" })).status).toBe(503);
  });

  test("answers each code of the service with its status", async () => {
    const service = new ScriptedService(({ id }) => {
      throw new ServingError(id as ServingError["code"], `It was ${id}.`);
    });
    const { url } = await serveHttp(service);
    const statuses = { resource_exhausted: 429, unavailable: 503, deadline_exceeded: 504, internal: 500, aborted: 409 };
    for (const [code, status] of Object.entries(statuses)) {
      const response = await post(url, BODY, { "x-request-id": code });
      const error = expect.stringContaining(`It was ${code}.`);
      expect([response.status, await response.json()]).toMatchObject([status, { error }]);
    }
  });

  test("keeps the cause of a fault to the log", async () => {
    const logged: unknown[] = [];
    const log: Logger = { ...createSilentLogger(), error: (message, fields) => logged.push({ message, ...fields }) };
    const service = new ScriptedService(() => {
      throw new TypeError("secret /etc/passwd");
    });
    const { url } = await serveHttp(service, { log });
    const response = await post(url);
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: "Internal error; the server's log has the cause." },
    ]);
    expect(logged).toEqual([
      expect.objectContaining({
        message: "request failed",
        status: 500,
        err: expect.objectContaining({ message: "secret /etc/passwd" }),
      }),
    ]);
  });
});

describe("in front of another server", () => {
  test("serves its model over all protocols, each request as the client sent it", async () => {
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }] });
    const remote = createRemoteService(grpcAddress, {});
    onTestFinished(() => remote.close());
    const { url } = await serveHttp(remote);
    const answer = async (path: string, body: string) => {
      const response = await fetch(url + path, { method: "POST", body });
      return [response.status, await response.json()];
    };
    expect(await answer("/v1/models/default:predict", '{"instances": [1.5, 2]}')).toEqual([
      200,
      { predictions: [1.5, 2] },
    ]);
    expect(await answer("/v1/models/default/versions/1:predict", '{"inputs": 7}')).toEqual([200, { outputs: 7 }]);
    expect(await answer("/predict", '{"inputs": {"x": {"dtype": 9, "data": [7]}}}')).toEqual([200, { x: [7] }]);
    expect(await answer("/serving-proxy", '{"x": [1, "a"]}')).toEqual([200, { x: [1, "a"] }]);
    expect(await answer("/v1/models/nope:predict", '{"inputs": 7}')).toEqual([
      404,
      { error: "Servable not found for request: Latest(nope). This server has default." },
    ]);
  });
});

describe("a request that HTTP does not allow", () => {
  test.each([
    ["without a Host", "GET /health HTTP/1.1\r\n\r\n", 400, "The request has no Host header; send one."],
    [
      "that has an unknown expectation",
      "GET /health HTTP/1.1\r\nHost: x\r\nExpect: x\r\n\r\n",
      417,
      "Expect: x cannot be met; send 100-continue, or no such header.",
    ],
  ])("%s is told so as any other", async (_, bytes, status, error) => {
    const { port } = await serveHttp(new ScriptedService());
    const client = new RawClient(port);
    client.write(bytes);
    const answer = await client.received(/\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*content-type: application/json`));
    expect(JSON.parse(answer.slice(answer.indexOf("{")))).toEqual({ error });
  });

  test("of HTTP/1.0 needs no Host", async () => {
    const { port } = await serveHttp(new ScriptedService());
    const client = new RawClient(port);
    client.write("GET /health HTTP/1.0\r\n\r\n");
    expect(await client.closed()).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("bytes that are no request", () => {
  test.each([
    ["a line that is no request", "nonsense\r\n\r\n", /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json/],
    [
      "headers that never end",
      `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}`,
      /^HTTP\/1\.1 431 Request Header Fields Too Large/,
    ],
    ["a chunk of no length", head("Transfer-Encoding: chunked").concat("zz\r\n"), /^HTTP\/1\.1 400 /],
    ["two lengths", head("Content-Length: 5", "Transfer-Encoding: chunked"), /^HTTP\/1\.1 400 /],
  ])("answers %s and closes", async (_, bytes, answer) => {
    const { port } = await serveHttp(new ScriptedService());
    const client = new RawClient(port);
    client.write(bytes);
    expect(await client.closed()).toMatch(answer);
  });
});

describe("retire", () => {
  const HEALTH = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";

  test("keeps a connection open for another request, whose answer says that it closes", async () => {
    const server = await serveHttp(new ScriptedService());
    const kept = new RawClient(server.port);
    kept.write(HEALTH);
    await kept.received(/"ok"/);
    server.retire();
    kept.write(HEALTH);
    const [, first, second] = (await kept.closed()).split("HTTP/1.1 200 ");
    expect([first, second]).toEqual([
      expect.stringContaining("Connection: keep-alive\r\n"),
      expect.stringContaining("connection: close\r\n"),
    ]);
  });

  test("answers the requests of new connections, each with the last of its connection", async () => {
    const server = await serveHttp(new ScriptedService());
    server.retire();
    const response = await post(server.url);
    expect([response.status, response.headers.get("connection")]).toEqual([200, "close"]);
  });

  test("answers all requests that a client has sent ahead", async () => {
    const service = new GatedService();
    const server = await serveHttp(service);
    const client = new RawClient(server.port);
    client.write(`${head(`Content-Length: ${BODY.length}`)}${BODY}`.repeat(2));
    await service.entered;
    server.retire();
    service.release();
    const answers = (await client.closed()).split("HTTP/1.1 200 ").slice(1);
    expect(answers.map((answer) => /^connection: (.*)$/im.exec(answer)?.[1])).toEqual(["keep-alive", "close"]);
  });
});

describe("close", () => {
  async function start() {
    const service = new GatedService();
    const server = await createHttpServer(service, {
      host: "127.0.0.1",
      port: 0,
      protocols: PROTOCOLS,
      settings: sliceSettings({}),
      log: createSilentLogger(),
    });
    onTestFinished(() => server.close(0));
    return { service, server };
  }

  test("finishes requests under way, and takes no new ones", async () => {
    const { service, server } = await start();
    const answer = post(server.url);
    await service.entered;
    const closed = server.close(10_000);
    await expect(post(server.url)).rejects.toThrow();
    service.release();
    const response = await answer;
    expect([response.status, response.headers.get("connection")]).toEqual([200, "close"]);
    await closed;
  });

  test("cuts what is still under way at the drain timeout", async () => {
    const { service, server } = await start();
    const answer = post(server.url);
    const { signal } = await service.entered;
    const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    await Promise.all([server.close(50), expect(answer).rejects.toThrow(), aborted]);
    service.release();
  });

  test("sends an answer to its end that a client reads slowly", async () => {
    const text = "a".repeat(20_000_000);
    const { port, close } = await serveHttp(new ScriptedService());
    const client = connect(port, "127.0.0.1");
    onTestFinished(() => void client.destroy());
    const body = JSON.stringify({ instances: [text] });
    client.write(`POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    // Nothing is read before the server closes: the answer waits in its buffers.
    await once(client, "readable");
    const closed = close(30_000);
    const received = (await buffer(client)).toString("latin1");
    expect(received.endsWith('a"\n    ]\n}')).toBe(true);
    expect(received.length).toBeGreaterThan(text.length);
    await closed;
  });

  test("does not wait for connections on which nothing is under way", async () => {
    const { service, server } = await start();
    const silent = new RawClient(server.port);
    const kept = new RawClient(server.port);
    kept.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    await kept.received(/"ok"/);
    await server.close(60_000);
    await Promise.all([silent.closed(), kept.closed()]);
    service.release();
  });

  test("closes once, however often it is told to", async () => {
    const { server } = await start();
    expect(server.close(0)).toBe(server.close(0));
    await server.close(0);
    await expect(
      new Promise((resolve, reject) => connect(server.port, "127.0.0.1", resolve as () => void).on("error", reject)),
    ).rejects.toThrow();
  });
});
