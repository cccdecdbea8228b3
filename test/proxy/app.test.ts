import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { AccessPolicy } from "../../src/access/access-policy.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RequestMetrics } from "../../src/observability/metrics/request-metrics.ts";
import { MemoryBudget } from "../../src/platform/limits/memory/memory-budget.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { createApp } from "../../src/proxy/app.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { serveHttp } from "./serve-http.ts";

describe("createApp", () => {
  test("serves what is not inference wherever it is mounted, and listens nowhere itself", async () => {
    const [service, log, memory] = [new ScriptedService(), createSilentLogger(), new MemoryBudget(2000)];
    const dependencies = {
      service,
      maxMessageBytes: 1000,
      memory,
      policy: new AccessPolicy(),
      accountKey: () => "",
      metrics: new RequestMetrics(),
      settings: sliceSettings({}).protocols,
      log,
    };
    const protocols = PROTOCOLS.flatMap(({ name, http }) =>
      http === undefined ? [] : [{ name, ...http(dependencies) }],
    );
    const server = createServer(createApp(protocols, dependencies)).listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
    expect(await (await fetch(`${url}/v2/health/ready`)).json()).toEqual({ ready: true });
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
  });
});

test("each request is looked up once, by the router of inference or by Express", async () => {
  const asked: string[] = [];
  const answer = async () => ({ contentType: "text/plain", body: Buffer.from("yes") });
  const find = (url: string) => {
    asked.push(url);
    return url === "/toy" ? answer : undefined;
  };
  const routes = [{ method: "GET", path: "/toy/state", kind: "read", answer }] as const;
  const toy = { name: "toy", http: () => ({ inference: [{ path: "/toy", find }], routes }) };
  const { url } = await serveHttp(new ScriptedService(), { protocols: [toy] });
  const statusOf = async (method: string, path: string) => (await fetch(url + path, { method })).status;
  expect([await statusOf("GET", "/toy/state"), await statusOf("GET", "/toy"), asked]).toEqual([200, 405, []]);
  expect([await statusOf("POST", "/toy"), await statusOf("POST", "/toy"), asked]).toEqual([200, 200, ["/toy"]]);
  expect([await statusOf("POST", "/toy/state"), asked]).toEqual([405, ["/toy", "/toy/state"]]);
});

describe("a route of the protocols", () => {
  const ask = async (method: string, path: string) => {
    const { url } = await serveHttp(new ScriptedService());
    const response = await fetch(url + path, { method });
    const { status, headers } = response;
    return { status, allow: headers.get("allow"), length: headers.get("content-length"), text: await response.text() };
  };

  test.each(["/health", "/v2/health/ready", "/v2/models/m", "/v2/models/m/versions/1/ready", "/v2/"])(
    "answers HEAD %s as GET, without the body",
    async (path) => {
      const { length, ...head } = await ask("HEAD", path);
      expect({ ...head, length }).toEqual({ ...(await ask("GET", path)), text: "" });
      expect(Number(length)).toBeGreaterThan(0);
    },
  );

  test.each([
    ["/health", "GET, HEAD, OPTIONS"],
    ["/v2/logging", "GET, HEAD, POST, OPTIONS"],
    ["/v2/models/m/infer", "POST, OPTIONS"],
    ["/predict/m/s", "POST, OPTIONS"],
    ["/serving-proxy/", "POST, OPTIONS"],
  ])("answers OPTIONS %s with its methods", async (path, allow) => {
    expect(await ask("OPTIONS", path)).toEqual({ status: 200, allow, length: "0", text: "" });
  });

  test.each([
    ["DELETE", "/health", 405, "GET, HEAD"],
    ["HEAD", "/v2/models/m/infer", 405, "POST"],
    ["PUT", "/v2/logging", 405, "GET, HEAD, POST"],
    ["OPTIONS", "/v2/nothing", 404, null],
    ["OPTIONS", "/nothing", 404, null],
    ["GET", "/V2/health/ready", 404, null],
    ["GET", "/v2/models/%zz", 400, null],
  ])("refuses %s %s with %i", async (method, path, status, allow) => {
    expect(await ask(method, path)).toMatchObject({ status, allow });
  });
});

test("a route with a version is the nearest to one like it, though the list shows the one without", async () => {
  const { url } = await serveHttp(new ScriptedService());
  const answer = await fetch(`${url}/V2/models/NAME/versions/VERSION/infer`, { method: "POST" });
  const told = (await answer.json()) as { error: string; did_you_mean?: string };
  expect(told.did_you_mean).toBe("POST /v2/models/NAME/versions/VERSION/infer");
  expect(told.error.split("versions/VERSION/infer")).toHaveLength(3);
});

test.each([
  ["POST", "/predicts", 'There is no POST /predicts here. Did you mean "POST /predict"? There is '],
  ["GET", "/v4/models", 'There is no GET /v4/models here. Did you mean "GET /v1/models"? There is '],
  ["GET", "/nothing/like/it", "There is no GET /nothing/like/it here. There is "],
])("%s %s is answered with the nearest route before all others", async (method, path, start) => {
  const { url } = await serveHttp(new ScriptedService());
  const { error } = (await (await fetch(`${url}${path}`, { method })).json()) as { error: string };
  expect(error.slice(0, start.length)).toBe(start);
});

test("a route of a server whose clients are answered too is told as the nearest one", async () => {
  const { url } = await serveHttp(new ScriptedService());
  const answer = await fetch(`${url}/api/chats`, { method: "POST" });
  expect(await answer.json()).toMatchObject({ did_you_mean: "POST /api/chat" });
});

test("a client that asks for another route is told of those that there are", async () => {
  const { url } = await serveHttp(new ScriptedService());
  const { error } = (await (await fetch(`${url}/v4/models?x=1`)).json()) as { error: string };
  expect(error).toBe(
    'There is no GET /v4/models here. Did you mean "GET /v1/models"? ' +
      "There is POST /predict[/MODEL[/SIGNATURE[/VERSION]]], POST /serving-proxy, " +
      "POST /v1/chat/completions, POST /v1/completions, POST /v1/responses, POST /v1/embeddings, POST /v1/rerank, " +
      "POST /v1/score, " +
      "GET /v1/models, GET /v3/models, GET /openai/v1/models, POST /, GET /, " +
      "POST /v1/models/NAME[/versions/VERSION]:predict, POST /v1/models/NAME[/versions/VERSION]:classify, " +
      "POST /v1/models/NAME[/versions/VERSION]:regress, GET /v1/config, POST /v2/models/NAME/infer, " +
      "POST /v2/models/NAME/infer_stream, POST /v2/models/NAME/generate, POST /v2/models/NAME/generate_stream, " +
      "GET /v2, GET /v2/openapi.json, GET /v2/health/live, " +
      "GET /v2/health/ready, GET /v2/models, GET /v2/models/stats, GET /v2/logging, GET /v2/trace/setting, " +
      "GET /v2/systemsharedmemory/status, GET /v2/cudasharedmemory/status, GET /health, GET /llms.txt, GET /metrics, GET /monitoring/prometheus/metrics, POST /invocations, GET /ping.",
  );
});
