import { join } from "node:path";
import { credentials, Metadata } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Hooks } from "../../../src/hooks/hooks.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { KserveClient } from "../../protocols/kserve/kserve-oracle.ts";
import { type ReceivedSpan, startCollector } from "./start-collector.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const SAMPLED = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: "vendor=1" };
const UNSAMPLED = { traceparent: `00-${TRACE}-${PARENT}-00` };
const HTTP_SPAN = "POST /v2/models/:name/infer";
const PREDICT_SPAN = "tensorflow.serving.PredictionService/Predict";
const GRPC_SPAN = "inference.GRPCInferenceService/ModelInfer";

const INPUT = { name: "x", datatype: "FP32", shape: [1] };

/** In a thread of its own; fails for a negative number. */
const DRIVER = `
import { defineDriver } from "kserving";
export default defineDriver({
  name: "threaded",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { serving_default: { outputs: [{ name: "x", dtype: "float32", shape: [-1] }] } },
    predict: async (inputs) => {
      if (inputs.x.data[0] < 0) throw new Error("as asked");
      return { x: inputs.x };
    },
    close: async () => {},
  }),
});`;

/** Asks another server, and logs. */
const HOOKS = `
export default {
  async preprocess(inputs, ctx) {
    ctx.log.info("asks");
    await ctx.remote(ctx.metadata["x-remote"]).predict(inputs);
    return inputs;
  },
};`;

async function start(options: Partial<ServerOptions> = {}, level: "info" | "error" = "info") {
  const stage = { driver: join(tempFolder({ "threaded.ts": DRIVER }), "threaded.ts") };
  const { log, find, events } = createEventLog(level);
  const server = await startServer({ tracing: true, stages: [stage], log, ...options });
  const post = (x: number, headers: Record<string, string> = {}, model = "default") => {
    const body = JSON.stringify({ inputs: [{ ...INPUT, data: [x] }] });
    return fetch(`${server.httpUrl}/v2/models/${model}/infer`, { method: "POST", body, headers });
  };
  return { server, post, find, events, stage };
}

const hookFile = () => join(tempFolder({ "hooks.ts": HOOKS }), "hooks.ts");

function infer(address: string, headers: Record<string, string>, x = 1) {
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const message = { model_name: "default", inputs: [{ ...INPUT, contents: { fp32_contents: [x] } }] };
  return new Promise((resolve) => {
    (client.ModelInfer as (...args: unknown[]) => void)(message, Metadata.fromHttp2Headers(headers), resolve);
  });
}

test("a span of an answer in parts tells when the first and the last part came, and how many there were", async () => {
  const collector = await startCollector();
  const hooks: Hooks = {
    async *process() {
      for (let number = 0; number < 3; number++) yield { number };
    },
  };
  const { server } = await start({ hooks });
  const send = (path: string) =>
    fetch(`${server.httpUrl}/v2/models/default/${path}`, { method: "POST", body: '{"x":1}' });
  await (await send("generate_stream")).text();
  const [root] = await collector.find("POST /v2/models/:name/generate_stream");
  expect(root?.attributes["kserving.parts"]).toBe(3);
  expect(root?.events.map(({ name }) => name)).toEqual(["first part", "last part"]);
  const times = [root!.startMs, ...root!.events.map(({ atMs }) => atMs), root!.endMs];
  expect(times.toSorted((a, b) => a - b)).toEqual(times);
});

describe("a request whose client has a trace", () => {
  test("over HTTP is a part of it, with all that it does in hook and model threads and in another server", async () => {
    const collector = await startCollector();
    const { server: other } = await start();
    const { post, find } = await start({ hooks: hookFile() });
    const answer = await post(1, { ...SAMPLED, "x-remote": other.grpcAddress });
    expect(answer.status).toBe(200);
    const [root] = await collector.find(HTTP_SPAN);
    expect(root).toMatchObject({
      traceId: TRACE,
      parentId: PARENT,
      state: "vendor=1",
      kind: "server",
      status: "unset",
    });
    const below = ({ id }: ReceivedSpan) => collector.spans.filter(({ parentId }) => parentId === id);
    const parts = below(root!).toSorted((a, b) => a.startMs - b.startMs);
    const names = ["decode", "wait", "preprocess 1", "queue 1", "model 1", "encode"];
    expect(parts.map(({ name, kind, traceId }) => [name, kind, traceId])).toEqual(
      names.map((name) => [name, "internal", TRACE]),
    );
    expect(parts.every(({ startMs, endMs }) => startMs >= root!.startMs && endMs <= root!.endMs)).toBe(true);
    const hook = parts[2]!;
    const [client, ...others] = below(hook);
    expect([client, others]).toMatchObject([{ name: PREDICT_SPAN, kind: "client" }, []]);
    await expect.poll(() => below(client!).length).toBe(1);
    const [served] = below(client!);
    expect(served).toMatchObject({ name: PREDICT_SPAN, kind: "server", traceId: TRACE, state: "vendor=1" });
    expect(below(served!).map(({ name }) => name)).toContain("model 1");
    expect(await find({ msg: "asks" })).toMatchObject({ trace_id: TRACE, span_id: hook.id });
  });

  test("over gRPC is a part of it, with the names and attributes of OpenTelemetry's conventions", async () => {
    vi.stubEnv("OTEL_SERVICE_NAME", "faces");
    vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test%20bed,service.name=not");
    const collector = await startCollector();
    const { server } = await start();
    expect(await infer(server.grpcAddress, SAMPLED)).toBeNull();
    const [root, model] = await collector.find(GRPC_SPAN, "model 1");
    expect(root).toMatchObject({ traceId: TRACE, parentId: PARENT, kind: "server", status: "unset" });
    expect(root!.attributes).toMatchObject({
      "rpc.system": "grpc",
      "rpc.service": "inference.GRPCInferenceService",
      "rpc.method": "ModelInfer",
      "rpc.grpc.status_code": 0,
      "kserving.model.name": "default",
      "kserving.model.version": "1",
    });
    expect(root!.resource).toMatchObject({ "service.name": "faces", "deployment.environment.name": "test bed" });
    expect(model).toMatchObject({ parentId: root!.id, attributes: { "kserving.stage": 1 } });
  });

  test("is not recorded where the client records nothing, and what it asks another server says so too", async () => {
    const collector = await startCollector();
    const { server: other } = await start({ accessLog: true });
    const { post } = await start({ hooks: hookFile(), accessLog: true });
    expect((await post(1, { ...UNSAMPLED, "x-remote": other.grpcAddress })).status).toBe(200);
    expect((await post(1, { ...SAMPLED, "x-remote": other.grpcAddress })).status).toBe(200);
    await collector.find(HTTP_SPAN, PREDICT_SPAN);
    expect(collector.spans.filter(({ kind }) => kind === "server")).toHaveLength(2);
  });
});

test("a request without a trace begins one; probes and metrics have none", async () => {
  const collector = await startCollector();
  const { server, post } = await start();
  await fetch(`${server.httpUrl}/v2/health/ready`);
  await fetch(`${server.httpUrl}/metrics`);
  expect((await post(1)).status).toBe(200);
  const [root] = await collector.find(HTTP_SPAN);
  expect(root).toMatchObject({ parentId: "", traceId: expect.stringMatching(/^[\da-f]{32}$/) });
  expect(root!.attributes).toMatchObject({
    "http.request.method": "POST",
    "http.route": "/v2/models/:name/infer",
    "url.path": "/v2/models/default/infer",
    "http.response.status_code": 200,
  });
  expect(collector.spans.filter(({ kind }) => kind === "server")).toHaveLength(1);
  expect(collector.headers[0]).toMatchObject({ path: "/v1/traces", "content-type": "application/x-protobuf" });
});

test("requests of one batch are linked to each other", async () => {
  const collector = await startCollector();
  const options = { max_batch_size: "2", batch_timeout_us: "10000000" };
  const { post } = await start({ options });
  await Promise.all([post(1, SAMPLED), post(2)]);
  await expect.poll(() => collector.spans.filter(({ name }) => name === "model 1").length).toBe(2);
  const [one, other] = collector.spans.filter(({ name }) => name === "model 1") as [ReceivedSpan, ReceivedSpan];
  expect(one.traceId).not.toBe(other.traceId);
  expect(one.links).toEqual([{ traceId: other.traceId, id: other.id }]);
  expect(other.links).toEqual([{ traceId: one.traceId, id: one.id }]);
});

test("what another model of the server does for a request is a part of the stage that asks it", async () => {
  const collector = await startCollector();
  const { server, post, stage } = await start();
  await server.load("inner", stage);
  await server.load("outer", { stages: [{ model: "inner" }] });
  expect((await post(1, SAMPLED, "outer")).status).toBe(200);
  const [root] = await collector.find(HTTP_SPAN, "queue 1");
  const models = collector.spans.filter(({ name }) => name === "model 1");
  const outer = models.find(({ parentId }) => parentId === root!.id);
  const inner = models.find(({ parentId }) => parentId === outer?.id);
  expect([outer?.attributes["kserving.model.name"], models.length]).toEqual(["inner", 2]);
  expect(inner?.traceId).toBe(TRACE);
});

test("a request that fails has failed spans as far as it came", async () => {
  const collector = await startCollector();
  const { server } = await start();
  expect(await infer(server.grpcAddress, SAMPLED, -1)).toMatchObject({ code: 13 });
  const [root, model] = await collector.find(GRPC_SPAN, "model 1");
  expect(root).toMatchObject({ status: "error", attributes: { "error.type": "internal" } });
  expect(model).toMatchObject({ status: "error", parentId: root!.id });
});

test("a collector that is away costs requests nothing and the log a line; the spans leave when it is back", async () => {
  let status = 503;
  const collector = await startCollector(() => status);
  const { post, find, events, server } = await start();
  expect((await post(1)).status).toBe(200);
  await find({ msg: "no collector takes the traces; they wait for one", why: "the collector answers 503" });
  expect((await post(2)).status).toBe(200);
  status = 200;
  await server.close();
  expect(collector.spans.filter(({ name }) => name === HTTP_SPAN)).toHaveLength(2);
  expect(events.filter(({ level }) => level === "warn")).toHaveLength(1);
});

test("without a collector nothing is recorded, and a hook passes its client's trace on", async () => {
  const collector = await startCollector();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "");
  const { post } = await start({ hooks: hookFile() });
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url);
  const { server: other } = await start();
  expect((await post(1, { ...SAMPLED, "x-remote": other.grpcAddress })).status).toBe(200);
  const [served] = await collector.find(PREDICT_SPAN);
  expect(served).toMatchObject({ traceId: TRACE, parentId: PARENT, kind: "server" });
  expect(collector.spans.filter(({ name }) => name === HTTP_SPAN)).toEqual([]);
});
