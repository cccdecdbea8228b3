import { request } from "node:https";
import { expect, test } from "vitest";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { authFiles, bearer, TOKENS } from "../access/auth-fixture.ts";
import { connect } from "../grpc/byte-client.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";

const CONTROL = "/v2/repository/models/default/load";
const INFER = "/v2/models/default/infer";

async function start(options: Partial<ServerOptions> = {}) {
  const stages = [{ driver: "null" }];
  const server = await startServer({ stages, allowControl: "all", admin: {}, ...options });
  return { ...server, adminUrl: server.adminUrl as string };
}

async function post(url: string): Promise<readonly [number, string]> {
  const answer = await fetch(url, { method: "POST", body: "{}" });
  return [answer.status, await answer.text()];
}

test("calls that change the server, and metrics, are answered at their own address alone", async () => {
  const { httpUrl, adminUrl, grpcAddress } = await start();
  expect(await post(httpUrl + CONTROL)).toEqual([404, expect.stringContaining("--admin-port")]);
  expect((await fetch(`${httpUrl}/metrics`)).status).toBe(404);
  const path = "/inference.GRPCInferenceService/RepositoryModelLoad";
  await expect(connect(grpcAddress).call(path, Buffer.alloc(0))).rejects.toMatchObject({ code: 7 });
  expect((await post(adminUrl + CONTROL))[0]).toBe(200);
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  // Those of the other ports.
  expect(metrics).toMatch(/kserving_requests_total\{[^}]*protocol="kserve"/);
  expect(await post(adminUrl + INFER)).toEqual([404, expect.stringContaining("other ports")]);
  for (const url of [httpUrl, adminUrl]) expect((await fetch(`${url}/v2/health/ready`)).status).toBe(200);
});

test("it is encrypted, and wants names, as the other ports are and do", async () => {
  const tls = { cert: tlsPath("server.pem"), key: tlsPath("server.key") };
  const { adminUrl } = await start({ tls, auth: await authFiles() });
  expect(adminUrl).toMatch(/^https:\/\/127\.0\.0\.1:/);
  const status = (headers: Record<string, string>) =>
    new Promise((resolve, reject) => {
      const options = { ca: tlsFile("ca.pem"), headers };
      const sent = request(`${adminUrl}/metrics`, options, (answer) => resolve(answer.resume().statusCode));
      sent.on("error", reject).end();
    });
  expect(await status({})).toBe(401);
  expect(await status({ authorization: bearer(TOKENS.user) })).toBe(403);
  expect(await status({ authorization: bearer(TOKENS.admin) })).toBe(200);
});

test("metrics are answered at their own address alone, also beside one for administration", async () => {
  for (const admin of [{ admin: {} }, {}]) {
    const stages = [{ driver: "null" }];
    const server = await startServer({ stages, allowControl: "all", metrics: { host: "127.0.0.1" }, ...admin });
    const metricsUrl = server.metricsUrl as string;
    expect(await (await fetch(`${metricsUrl}/metrics`)).text()).toContain("kserving_requests_total");
    expect((await fetch(`${metricsUrl}/v2/health/ready`)).status).toBe(200);
    for (const path of ["/v2", "/v2/models/default"]) expect((await fetch(metricsUrl + path)).status).toBe(404);
    for (const path of [CONTROL, INFER]) expect((await post(metricsUrl + path))[0]).toBe(404);
    const others = [server.httpUrl, ...(server.adminUrl === undefined ? [] : [server.adminUrl])];
    for (const url of others) {
      const answer = await fetch(`${url}/metrics`);
      expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining("--metrics-port")]);
    }
    expect((await post((server.adminUrl ?? server.httpUrl) + CONTROL))[0]).toBe(200);
  }
});

test("a route of hooks hides nothing there", async () => {
  const answer = () => ({ body: "of a hook" });
  const hooks = { rawRequest: { path: "/metrics", methods: ["GET"] as const, answer } };
  const { httpUrl, adminUrl, metricsUrl } = await start({ hooks, metrics: {} });
  const text = async (url: string) => (await fetch(url)).text();
  expect(await text(`${httpUrl}/metrics`)).toContain("of a hook");
  expect(await text(`${metricsUrl}/metrics`)).toContain("kserving_requests_total");
  expect(await text(`${adminUrl}/metrics`)).toContain("--metrics-port");
});
