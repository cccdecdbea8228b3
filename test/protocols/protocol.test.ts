import { expect, it, onTestFinished } from "vitest";
import { frameBytes } from "../../src/grpc/framed-message.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";
import { createHttpServer } from "../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { connect } from "../grpc/byte-client.ts";
import { ScriptedService, serve } from "../grpc/scripted-service.ts";

/** Says whether the server is ready, in its own way on each transport. */
const toy: Protocol = {
  name: "toy",
  grpc: (service) => ({
    routes: {
      "/toy.Toy/Ready": {
        kind: "read",
        method: async () => ({ message: frameBytes(Buffer.from(String(service.isReady()))), metadata: {} }),
      },
    },
  }),
  http: ({ service }) => {
    const body = async () => ({ contentType: "text/plain", body: Buffer.from(String(service.isReady())) });
    return {
      inference: [{ path: "/toy", find: (url) => (url === "/toy" ? body : undefined) }],
      routes: [{ method: "GET", path: "/toy/ready", kind: "read", answer: body }],
    };
  },
};

it("is added by one object in the list of protocols, on both transports, next to the others", async () => {
  const service = new ScriptedService();
  const protocols = [...PROTOCOLS, toy];
  const client = connect((await serve(service, { protocols })).address);
  expect(String((await client.call("/toy.Toy/Ready", Buffer.alloc(0))).bytes)).toBe("true");
  await client.call("/grpc.health.v1.Health/Check", Buffer.alloc(0));
  const own = { settings: sliceSettings({}), log: createSilentLogger() };
  const http = await createHttpServer(service, { host: "127.0.0.1", port: 0, protocols, ...own });
  onTestFinished(() => http.close(0));
  expect(await (await fetch(`${http.url}/toy`, { method: "POST" })).text()).toBe("true");
  expect(await (await fetch(`${http.url}/toy/ready`)).text()).toBe("true");
  expect(await (await fetch(`${http.url}/no`)).text()).toMatch(/ POST \/toy, GET \/toy\/ready\./);
  expect((await fetch(`${http.url}/v2/health/live`)).status).toBe(200);
});
