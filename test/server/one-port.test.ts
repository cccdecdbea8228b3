import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import type { SecureClientSessionOptions } from "node:http2";
import { TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { probePort } from "../../src/cli/addresses/probe-port.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import type { Values } from "../../src/tensor/plain-value.ts";
import { authFiles, bearer, TOKENS } from "../access/auth-fixture.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { hasProgram } from "../helpers/has-program.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";
import { answerOf, ask, connectHttp2 } from "../proxy/http2-client.ts";

const CA = tlsFile("ca.pem");
const TLS = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
const CLIENT = { cert: tlsFile("client.pem"), key: tlsFile("client.key") };
const PREDICT = "/v1/models/default:predict";
const INFER = "/v2/models/default/infer";
const BODY = '{"instances": [1, 2]}';
const GRPC = { "content-type": "application/grpc", te: "trailers" };
const LIVE = "/inference.GRPCInferenceService/ServerLive";

/** A server whose gRPC and HTTP have one port, or one each; `connect` opens a connection of HTTP/2 to that of HTTP. */
async function start(port: "one" | "own", options: Partial<ServerOptions> = {}) {
  const { log, find } = createEventLog("info");
  const one = port === "one" ? await probePort("127.0.0.1", 0, "port") : 0;
  const server = await startServer({ stages: [{ driver: "null" }], port: one, http: { port: one }, log, ...options });
  const connect = (tls: SecureClientSessionOptions = {}) => connectHttp2(server.httpUrl, { ca: CA, ...tls });
  return { server, find, connect };
}

const WAYS = [
  ["one port", "one", {}],
  ["one encrypted port", "one", { tls: TLS }],
  ["HTTP's own port", "own", {}],
  ["HTTP's own encrypted port", "own", { tls: TLS }],
] as const;

describe.each(WAYS)("HTTP/2 at %s", (_, port, options) => {
  test("has all that HTTP/1.1 has", async () => {
    const { connect } = await start(port, options);
    const session = connect();
    const predicted = await ask(session, PREDICT, {}, BODY);
    expect([predicted.status, JSON.parse(`${predicted.body}`)]).toEqual([200, { predictions: [1, 2] }]);
    const metrics = await ask(session, "/metrics");
    expect([metrics.status, `${metrics.body}`]).toEqual([200, expect.stringContaining("kserving_")]);
    const page = await ask(session, "/ui", { accept: "text/html" });
    expect([page.status, page.headers["content-type"], `${page.body}`.slice(0, 9)]).toEqual([
      200,
      expect.stringContaining("text/html"),
      expect.stringMatching(/^<!doctype/i),
    ]);
    const missing = await ask(session, "/v2/models/nobody/infer", {}, BODY);
    expect([missing.status, JSON.parse(`${missing.body}`)]).toMatchObject([404, { error: expect.any(String) }]);
    expect((await ask(session, "/nothing")).status).toBe(404);
  });

  test("takes and gives bytes and photos, small and of 20 MB, more than a connection has at a time", async () => {
    const { connect } = await start(port, options);
    const session = connect();
    for (const bytes of [8, 2 ** 20, 20 * 2 ** 20]) {
      const numbers = new Float32Array(bytes / 4).fill(0.5);
      numbers[numbers.length - 1] = 7;
      const data = Buffer.from(numbers.buffer);
      const input = { name: "x", datatype: "FP32", shape: [numbers.length], parameters: { binary_data_size: bytes } };
      const head = Buffer.from(JSON.stringify({ inputs: [input], parameters: { binary_data_output: true } }));
      const headers = { "inference-header-content-length": head.length };
      const { status, headers: got, body } = await ask(session, INFER, headers, Buffer.concat([head, data]));
      expect([status, got["content-length"]]).toEqual([200, String(body.length)]);
      const answerHead = Number(got["inference-header-content-length"]);
      expect(body.subarray(answerHead).equals(data)).toBe(true);
    }
    const photo = readFileSync("examples/photos/page.png");
    const form = new FormData();
    form.append("byte_photo", new Blob([Uint8Array.from(photo)]), "page.png");
    const request = new Request("http://x", { method: "POST", body: form });
    const type = { "content-type": `${request.headers.get("content-type")}` };
    const sent = new Uint8Array(await request.arrayBuffer());
    expect((await ask(session, "/predict", type, sent)).status).toBe(200);
  });

  test("goes beside gRPC, or says where that is", async () => {
    const { connect } = await start(port, options);
    const session = connect();
    const stream = session.request({ ":method": "POST", ":path": LIVE, ...GRPC });
    const trailers = once(stream, "trailers");
    stream.end(Buffer.alloc(5));
    const [predicted, { headers }] = await Promise.all([ask(session, PREDICT, {}, BODY), answerOf(stream)]);
    expect(predicted.status).toBe(200);
    if (port === "one") expect((await trailers)[0]["grpc-status"]).toBe("0");
    else expect(headers["grpc-message"]).toMatch(/^This port serves HTTP: gRPC is served on port \d+\.$/);
  });

  test.skipIf(!hasProgram("curl"))("answers curl, which takes HTTP/1.1 of an encrypted port", async () => {
    const { server } = await start(port, options);
    const curl = async (...flags: string[]) => {
      const certificate = ["--cacert", tlsPath("ca.pem")];
      const told = ["--write-out", "\n%{http_version}:%{http_code}"];
      const always = ["-sS", "--http2-prior-knowledge", ...certificate, ...told];
      const { stdout } = await promisify(execFile)("curl", [...always, ...flags]);
      return stdout.split("\n").at(-1);
    };
    const version = "tls" in options ? "1.1" : "2";
    expect(await curl(`${server.httpUrl}${PREDICT}`, "-d", BODY)).toBe(`${version}:200`);
    expect(await curl("-I", `${server.httpUrl}/health`)).toBe(`${version}:200`);
    expect(await curl(`${server.httpUrl}/nothing`)).toBe(`${version}:404`);
  });
});

describe("a client over HTTP/2", () => {
  test("is known by its key, and by its certificate", async () => {
    const auth = await authFiles(`allow:\n  - { who: ["cn:client", "token:admin"], kinds: [infer, read] }\n`);
    const mutual = { ...TLS, clientCa: tlsPath("ca.pem") };
    const { connect, find } = await start("one", { auth, tls: mutual, accessLog: true });
    const session = connect(CLIENT);
    const byCertificate = await ask(session, PREDICT, { "x-request-id": "by-certificate" }, BODY);
    const by = await find({ requestId: "by-certificate" });
    expect([byCertificate.status, by.client, by.user]).toEqual([200, "127.0.0.1", "cn:client"]);
    const reading = vi.spyOn(TLSSocket.prototype, "getPeerCertificate");
    onTestFinished(() => reading.mockRestore());
    for (let count = 0; count < 3; count++) expect((await ask(session, PREDICT, {}, BODY)).status).toBe(200);
    // A connection's was read for the first of its requests.
    expect(reading).not.toHaveBeenCalled();
    const plain = await start("one", { auth: await authFiles(), accessLog: true });
    const tokens = plain.connect();
    const id = { "x-request-id": "by-key" };
    expect((await ask(tokens, PREDICT, { ...id, authorization: bearer(TOKENS.user) }, BODY)).status).toBe(200);
    expect(await plain.find({ requestId: "by-key" })).toMatchObject({ user: "token:user", client: "127.0.0.1" });
    const nobody = await ask(tokens, PREDICT, {}, BODY);
    expect([nobody.status, nobody.headers["www-authenticate"]]).toEqual([401, expect.any(String)]);
    expect((await ask(tokens, PREDICT, { authorization: bearer(TOKENS.team) }, BODY)).status).toBe(403);
  });

  test("may change the server by its own address, not by one that it names", async () => {
    const reload = (session: Parameters<typeof ask>[0], headers = {}) => ask(session, "/v1/config/reload", headers, "");
    const { connect } = await start("one", { allowControl: "local" });
    const proxied = { "x-forwarded-for": "10.0.0.1" };
    expect((await reload(connect())).status).toBeLessThan(300);
    expect((await reload(connect(), proxied)).status).toBe(403);
    const { connect: connectShut } = await start("one");
    expect((await reload(connectShut())).status).toBe(403);
  });

  test("has the limits of one client, however many of its requests one connection carries", async () => {
    const { connect } = await start("one", { clientMaxInFlight: 2, hooks: { process: slowly } });
    const session = connect();
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(session, PREDICT, {}, BODY)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2);
  });

  test("has the line in the log that it has over HTTP/1.1", async () => {
    const { server, connect, find } = await start("own", { accessLog: true });
    await fetch(server.httpUrl + PREDICT, { method: "POST", body: BODY, headers: { "x-request-id": "old" } });
    await ask(connect(), PREDICT, { "x-request-id": "new" }, BODY);
    const [old, now] = [await find({ requestId: "old" }), await find({ requestId: "new" })];
    expect(Object.keys(now)).toEqual(Object.keys(old));
    expect({ ...now, requestBytes: 0 }).toMatchObject({ protocol: "http", method: "POST", path: PREDICT, status: 200 });
    await ask(connect(), INFER, { "x-request-id": "refused" }, "{");
    expect(await find({ requestId: "refused" })).toMatchObject({ path: INFER, status: 400 });
  });
});

/** Of each route at least one; of paths that are none, some. */
const PATHS = [
  ...[
    "/",
    "/ui",
    "/docs",
    "/health",
    "/ping",
    "/invocations",
    "/predict",
    "/serving-proxy",
    "/v1/config",
    "/v1/models",
  ],
  ...["/v1/config/reload", "/v1/models/default", PREDICT, "/v1/models/default/metadata", "/v1/models/default/gen_json"],
  ...["/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/default", INFER, "/v2/models/default/config"],
  ...["/v2/repository/index", "/v2/systemsharedmemory/status", "/nothing", "//health", "/health/", "/health?x=1"],
  ...["/v2/models/%zz", "/v1/models/a%2Fb:predict", "/ui/..%2f..%2fetc/passwd"],
];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];
/** Fields that belong to a connection, or differ from answer to answer. */
const OWN = new Set([":status", "connection", "date", "keep-alive", "transfer-encoding", "x-request-id"]);

test("every route answers every method as it does over HTTP/1.1", async () => {
  const { server, connect } = await start("own");
  const [session, address] = [connect(), new URL(server.httpUrl)];
  const plain = (status: number | undefined, headers: object, body: Buffer) => ({
    status,
    fields: Object.entries(headers)
      .filter(([name]) => !OWN.has(name))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
    body: `${body}`.replace(/\d\d+/g, "N"),
  });
  for (const path of PATHS) {
    for (const method of METHODS) {
      const body = method === "POST" ? BODY : undefined;
      const [old, now] = await Promise.all([
        askOld(address, { method, path, body }),
        ask(session, path, { ":method": method, ":authority": address.host }, body),
      ]);
      expect([method, path, plain(now.status, now.headers, now.body)]).toEqual([
        method,
        path,
        plain(old.status, old.headers, old.body),
      ]);
    }
  }
});

interface OldRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

/** The answer over HTTP/1.1. */
async function askOld({ hostname, port }: URL, { method, path, body }: OldRequest) {
  const headers = body === undefined ? {} : { "content-length": body.length };
  const sent = request({ hostname, port, method, path, headers, agent: false }).end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece);
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) };
}

async function slowly(inputs: Values): Promise<Values> {
  await new Promise((resolve) => setTimeout(resolve, 200));
  return inputs;
}
