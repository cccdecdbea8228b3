import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { AccessPolicy } from "../../src/access/access-policy.ts";
import { MemoryBudget } from "../../src/limits/memory-budget.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { createApp } from "../../src/proxy/app.ts";
import { createInferenceRouter } from "../../src/proxy/inference-router.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";

describe("createApp", () => {
  test("serves all routes wherever it is mounted, and listens nowhere itself", async () => {
    const [service, log, memory] = [new ScriptedService(), createSilentLogger(), new MemoryBudget(2000)];
    const dependencies = { service, maxMessageBytes: 1000, memory, policy: new AccessPolicy(), log };
    const app = createApp(createInferenceRouter(PROTOCOLS, dependencies), dependencies);
    const server = createServer(app).listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const post = (path: string, body: string) => fetch(url + path, { method: "POST", body });
    expect(await (await post("/v1/models/m:predict", '{"inputs": 7}')).json()).toEqual({ outputs: 7 });
    expect(await (await post("/predict", '{"inputs": {"x": {"dtype": 3, "data": 7}}}')).json()).toEqual({ x: 7 });
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
    expect((await post("/predict", " ".repeat(1001))).status).toBe(413);
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
  });
});
