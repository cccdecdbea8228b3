import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { type AccessOptions, AccessPolicy } from "../../src/access/access-policy.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "./serve-http.ts";

const PAGE = "https://app.example.com";
/** Every route that runs a model, and a body for it. */
const ROUTES = [
  ["/v1/models/m:predict", '{"inputs": [1]}'],
  ["/v2/models/m/infer", '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}'],
  ["/predict", '{"inputs": {"x": {"dtype": 3, "data": 7}}}'],
  ["/serving-proxy", "{}"],
] as const;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function start(options: AccessOptions = {}) {
  const service = new ScriptedService();
  const { port } = await serveHttp(service, { policy: new AccessPolicy(options) });
  // Not fetch, which keeps headers to itself that only browsers may send.
  const send = ({ body, ...asked }: Asked) =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const sent = request({ port, host: "127.0.0.1", ...asked }, async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
      sent.on("error", reject).end(body);
    });
  const preflight = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    send({
      method: "OPTIONS",
      path,
      headers: { origin: PAGE, "access-control-request-method": "POST", ...headers },
    });
  return { service, send, preflight };
}

describe.each(ROUTES)("%s", (path, body) => {
  const post = { method: "POST", path, body };

  it("is refused to pages of other origins before anything runs", async () => {
    const { service, send, preflight } = await start();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
      const answer = await send({ ...post, headers: { origin: PAGE, "content-type": type } });
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(`--cors-origin ${PAGE}`)]);
      expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    }
    expect((await preflight(path)).headers).not.toHaveProperty("access-control-allow-origin");
    expect(service.requests).toEqual([]);
  });

  it("is open to pages of an origin that is named, which may read errors too", async () => {
    const { send, preflight } = await start({ corsOrigins: [PAGE] });
    const asked = await preflight(path, {
      "access-control-request-headers": "content-type,inference-header-content-length",
      "access-control-request-private-network": "true",
    });
    expect([asked.status, asked.text]).toEqual([200, ""]);
    expect(asked.headers).toMatchObject({
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "content-type,inference-header-content-length",
      "access-control-allow-private-network": "true",
      vary: "Origin",
    });
    for (const [sent, status] of [
      [body, 200],
      ["[", path === "/serving-proxy" ? 200 : 400],
    ] as const) {
      const answer = await send({ ...post, body: sent, headers: { origin: PAGE } });
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject({
        "access-control-allow-origin": PAGE,
        "access-control-expose-headers": "*",
      });
    }
    const other = await send({ ...post, headers: { origin: "https://attacker.example" } });
    expect(other.status).toBe(403);
    expect(other.headers).not.toHaveProperty("access-control-allow-origin");
  });

  it("is open to every page with *", async () => {
    const { send, preflight } = await start({ corsOrigins: ["*"] });
    expect((await preflight(path)).headers).toMatchObject({ "access-control-allow-origin": "*" });
    const answer = await send({ ...post, headers: { origin: "null", "sec-fetch-site": "cross-site" } });
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
  });
});

it("answers that may depend on the page's origin say so to caches, for each client", async () => {
  for (const corsOrigins of [[PAGE], ["*"]]) {
    const { send, preflight } = await start({ corsOrigins });
    for (const headers of [{}, { origin: PAGE }, { origin: "https://attacker.example" }]) {
      for (const path of ["/health", "/nothing"]) {
        expect((await send({ method: "GET", path, headers })).headers).toMatchObject({ vary: "Origin" });
      }
      expect((await send({ method: "POST", path: ROUTES[0][0], headers })).headers).toMatchObject({ vary: "Origin" });
    }
    expect((await preflight(ROUTES[0][0])).headers).toMatchObject({ vary: "Origin" });
  }
  const closed = await start();
  const answer = await closed.send({ method: "GET", path: "/health", headers: { origin: PAGE } });
  expect(answer.headers).not.toHaveProperty("vary");
});

it("what changes the server is never open to pages", async () => {
  const { send, preflight } = await start({ corsOrigins: ["*"], allowControl: "all" });
  for (const path of ["/v2/repository/models/m/load", "/v2/repository/models/m/unload", "/v2/logging"]) {
    const answers = [
      await preflight(path),
      await send({ method: "POST", path, headers: { origin: PAGE }, body: "{}" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 403]);
    for (const { headers } of answers) expect(headers).not.toHaveProperty("access-control-allow-origin");
  }
});

it("what there is not, and health, may be read by pages of an origin that is named", async () => {
  const { send } = await start({ corsOrigins: [PAGE] });
  for (const [path, status] of [
    ["/health", 200],
    ["/nothing", 404],
    ["/v2/nothing", 404],
  ] as const) {
    const answer = await send({ method: "GET", path, headers: { origin: PAGE } });
    expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([status, PAGE]);
  }
});

it("a preflight under /v1 without permission is answered as TensorFlow Serving answers it", async () => {
  const { send, preflight } = await start();
  expect(await preflight("/v1/models/m:predict")).toMatchObject({ status: 200, text: "" });
  const without = await send({ method: "OPTIONS", path: "/v1/models/m:predict", headers: {} });
  expect([without.status, without.text]).toEqual([400, expect.stringContaining("Origin header is missing")]);
});
