import type { Metadata } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { connect } from "../grpc/byte-client.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startServer } from "../helpers/start-server.ts";

const INFER = "/v2/models/default/infer";
const BODY = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] });

async function start(options: Partial<ServerOptions>) {
  const { log, find } = createEventLog();
  const server = await startServer({ stages: [{ driver: "null" }], allowControl: "all", log, ...options });
  const get = (path: string, headers: Record<string, string> = {}) => fetch(server.httpUrl + path, { headers });
  const post = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.httpUrl + path, { method: "POST", body: BODY, headers });
  return { server, get, post, find, client: connect(server.grpcAddress) };
}

describe("a client that sends faster than its rate", () => {
  test("gets 429 with the time to wait, on a connection that goes on", async () => {
    const { post, find } = await start({ clientRate: 1 });
    expect((await post(INFER)).status).toBe(200);
    const refused = await post(INFER);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual([
      429,
      "1",
      "keep-alive",
    ]);
    expect(await refused.json()).toMatchObject({
      error: expect.stringMatching(/^The client sends more than 1 requests per second \(--client-rate; 1 at once/),
    });
    expect(await find({ level: "warn" })).toMatchObject({ client: "127.0.0.1" });
  });

  test("is refused whatever it asks for, on both transports together, but for health", async () => {
    const { post, get, client } = await start({ clientRate: 1 });
    expect((await post(INFER)).status).toBe(200);
    const refused = [
      get("/v2"),
      get("/metrics"),
      get("/nothing"),
      post("/v2/logging"),
      post("/v1/models/default:predict"),
    ];
    expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([429, 429, 429, 429, 429]);
    const healthy = [get("/health"), get("/v2/health/live"), get("/v2/health/ready"), get("/v2/models/default/ready")];
    expect((await Promise.all(healthy)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const name of ["ServerLive", "ServerReady"])
      await client.call(`/inference.GRPCInferenceService/${name}`, Buffer.alloc(0));
    await client.call("/grpc.health.v1.Health/Check", Buffer.alloc(0));
    for (const name of ["ServerMetadata", "ModelInfer", "RepositoryModelUnload"]) {
      // Takes what the second since the last request may have given back.
      await get("/v2");
      const call = client.call(`/inference.GRPCInferenceService/${name}`, Buffer.alloc(0));
      await expect(call).rejects.toMatchObject({ code: 8, details: expect.stringContaining("--client-rate") });
    }
  });

  test("is told over gRPC when to try again, as its retry policy and its code read it", async () => {
    const { client } = await start({ clientRate: 1 });
    const call = () => client.call("/inference.GRPCInferenceService/ServerMetadata", Buffer.alloc(0));
    await call();
    const { metadata } = (await call().catch((error) => error)) as { metadata: Metadata };
    expect(Number(metadata.get("grpc-retry-pushback-ms")[0])).toBeGreaterThan(0);
    expect(String(metadata.get("grpc-status-details-bin")[0])).toContain("google.rpc.RetryInfo");
  });
});

describe("requests in flight", () => {
  const hooks = { preprocess: () => new Promise<never>(() => {}) };

  test("count until they are answered, or their client leaves", async () => {
    const { server, post, find } = await start({ clientMaxInFlight: 1, hooks, drainTimeoutMs: 0 });
    const left = new AbortController();
    const waiting = fetch(server.httpUrl + INFER, { method: "POST", body: BODY, signal: left.signal });
    await expect.poll(() => server.inFlight().length).toBe(1);
    const refused = await post(INFER);
    expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("--client-max-in-flight")]);
    left.abort();
    await expect(waiting).rejects.toThrow();
    await find({
      msg: "a client was refused: The client has 1 request in flight, the most that one may have (--client-max-in-flight). Send again when one is answered.",
    });
    await expect.poll(async () => (await fetch(`${server.httpUrl}/v2`)).status).toBe(200);
  });

  test("of a client over gRPC end with their calls", async () => {
    const { server, client } = await start({ clientMaxInFlight: 1, hooks, drainTimeoutMs: 0 });
    const left = new AbortController();
    const path = "/tensorflow.serving.PredictionService/Predict";
    const waiting = client.call(path, Buffer.alloc(0), { signal: left.signal });
    await expect.poll(() => server.inFlight().length).toBe(1);
    await expect(client.call(path, Buffer.alloc(0))).rejects.toMatchObject({ code: 8 });
    left.abort();
    await expect(waiting).rejects.toMatchObject({ code: 1 });
    await expect
      .poll(() => statusOf(client.call("/inference.GRPCInferenceService/ServerMetadata", Buffer.alloc(0))))
      .toBe(0);
  });
});

describe("clients are told apart", () => {
  test("by the entry that a trusted proxy has added", async () => {
    const { get } = await start({ clientRate: 1, trustedProxies: ["127.0.0.0/8"] });
    const from = async (forwarded: string) => (await get("/v2", { "x-forwarded-for": forwarded })).status;
    expect([await from("192.0.2.1"), await from("192.0.2.2"), await from("6.6.6.6, 192.0.2.1")]).toEqual([
      200, 200, 429,
    ]);
  });

  test("not by what an untrusted client says", async () => {
    const { get } = await start({ clientRate: 1 });
    const from = async (forwarded: string) => (await get("/v2", { "x-forwarded-for": forwarded })).status;
    expect([await from("192.0.2.1"), await from("192.0.2.2")]).toEqual([200, 429]);
  });

  test("by a header, over gRPC too", async () => {
    const { get, client } = await start({ clientRate: 1, clientKey: "header:x-api-key" });
    const from = async (key: string) => (await get("/v2", { "x-api-key": key })).status;
    expect([await from("one"), await from("two"), await from("one")]).toEqual([200, 200, 429]);
    // Its routes take a token from this header.
    const ofAnthropic = async (key: string) => (await get("/v1/messages", { "x-api-key": key })).status;
    expect([await ofAnthropic("six"), await ofAnthropic("seven"), await ofAnthropic("six")]).toEqual([405, 405, 429]);
    const call = (key: string) =>
      statusOf(
        client.call("/inference.GRPCInferenceService/ServerMetadata", Buffer.alloc(0), {
          metadata: { "x-api-key": key },
        }),
      );
    expect([await call("two"), await call("three")]).toEqual([8, 0]);
  });
});

test("a key and a proxy that are none are refused before anything starts", async () => {
  await expect(start({ clientKey: "ip" })).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(start({ trustedProxies: ["proxy"] })).rejects.toMatchObject({ code: "invalid_argument" });
});

async function statusOf(call: Promise<unknown>): Promise<number> {
  return call.then(
    () => 0,
    ({ code }) => code,
  );
}
