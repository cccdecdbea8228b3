import { once } from "node:events";
import { request } from "node:http";
import { createServer, type Socket } from "node:net";
import { devNull } from "node:os";
import { join } from "node:path";
import { type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { AccessPolicy } from "../../../src/access/access-policy.ts";
import type { ControlAccess } from "../../../src/access/control-access.ts";
import { createGrpcServer } from "../../../src/grpc/grpc-server.ts";
import { defineHooks } from "../../../src/hooks/hooks.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
import { createHttpServer } from "../../../src/proxy/http-server.ts";
import { PROTOCOLS } from "../../../src/server/protocols.ts";
import type { InferenceService } from "../../../src/serving/inference-service.ts";
import { connectKserve } from "../../helpers/kserve-grpc.ts";
import { fileExists } from "../../helpers/start-hook-threads.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const MODEL = "/v2/repository/models/default";

async function start() {
  const { httpUrl } = await startServer({
    stages: [{ driver: "onnx", path: "test/fixtures/models/half-plus-two.onnx" }],
    allowControl: "local",
  });
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(httpUrl + path, init);
    return [response.status, await response.text()] as const;
  };
  const body = JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [2] }] });
  return { send, infer: () => send("/v2/models/default/infer", { method: "POST", body }) };
}

describe("a model that is unloaded and loaded by its clients", () => {
  it("is unknown in between and answers again afterwards", async () => {
    const { send, infer } = await start();
    expect(await infer()).toEqual([200, expect.stringContaining('"data":[3.0]')]);
    expect(await send(`${MODEL}/unload`, { method: "POST" })).toEqual([200, ""]);
    const none = "Request for unknown model: 'default' has no available versions";
    expect(await infer()).toEqual([404, expect.stringContaining(none)]);
    expect(await send("/v2/models/default/ready")).toEqual([404, expect.stringContaining(none)]);
    const version = "Request for unknown model: 'default' version 1 is not at ready state";
    expect(await send("/v2/models/default/versions/1")).toEqual([503, expect.stringContaining(version)]);
    const another = "Request for unknown model: 'default' version 2 is not found";
    expect(await send("/v2/models/default/versions/2/ready")).toEqual([404, expect.stringContaining(another)]);
    const index = [{ name: "default", version: "1", state: "UNAVAILABLE", reason: "unloaded" }];
    expect(JSON.parse((await send("/v2/repository/index", { method: "POST" }))[1])).toEqual(index);
    expect(await send(`${MODEL}/load`, { method: "POST" })).toEqual([200, ""]);
    expect(await infer()).toEqual([200, expect.stringContaining('"data":[3.0]')]);
  });

  it("finishes its running requests when it is loaded again", async () => {
    const { send, infer } = await start();
    const answers = Array.from({ length: 50 }, infer);
    const loaded = send(`${MODEL}/load`, { method: "POST", body: "{}" });
    expect((await Promise.all(answers)).map(([status]) => status)).toEqual(new Array(50).fill(200));
    expect(await loaded).toEqual([200, ""]);
  });

  it("is refused under another name, and with a configuration where it has no folder", async () => {
    const { send } = await start();
    const unknown = await send("/v2/repository/models/no/load", { method: "POST" });
    expect(unknown).toEqual([
      404,
      expect.stringContaining("failed to load 'no', failed to poll from model repository"),
    ]);
    const body = JSON.stringify({ parameters: { config: "{}" } });
    const refused = await send(`${MODEL}/load`, { method: "POST", body });
    expect(refused).toEqual([400, expect.stringContaining("the model default has no folder of its own")]);
  });
});

describe("calls that change the server", () => {
  it.each(["off", "local", "all"] as const)("are answered over both wires by who may: %s", async (allowControl) => {
    const { service } = await startServer({ stages: [{ driver: "null" }] });
    const { address, send } = await listenBeyondLoopback(service, allowControl);
    const call = connectKserve(address);
    for (const [method, message, path, body] of CONTROL_CALLS) {
      const overHttp = await send(path, body);
      const code = await call(method, message).then(
        () => status.OK,
        (reason: ServiceError) => reason.code,
      );
      expect([method, code, overHttp]).toEqual(
        allowControl === "all" ? [method, status.OK, 200] : [method, status.PERMISSION_DENIED, 403],
      );
    }
    await expect(call("LogSettings", {})).resolves.toHaveProperty("settings");
    expect(await send("/v2/logging")).toBe(200);
  });
});

/** Every call that changes the server: over gRPC, and over HTTP. */
const CONTROL_CALLS = [
  ["RepositoryModelUnload", { model_name: "default" }, `${MODEL}/unload`, ""],
  ["RepositoryModelLoad", { model_name: "default" }, `${MODEL}/load`, ""],
  ["LogSettings", { settings: { log_info: { bool_param: true } } }, "/v2/logging", '{"log_info":true}'],
  ["TraceSetting", { settings: { trace_level: { value: ["OFF"] } } }, "/v2/trace/setting", '{"trace_level":["OFF"]}'],
] as const;

/** Both wires on sockets of the file system, whose clients have no address: as good as another machine's. */
async function listenBeyondLoopback(service: InferenceService, allowControl: ControlAccess) {
  const options = {
    host: "127.0.0.1",
    port: "shared",
    protocols: PROTOCOLS,
    policy: new AccessPolicy({ allowControl }),
    settings: sliceSettings({}),
    log: createLogger({ path: devNull }),
  } as const;
  const [grpc, http] = [await createGrpcServer(service, options), await createHttpServer(service, options)];
  onTestFinished(async () => void (await Promise.all([grpc.close(0), http.close(0)])));
  const [grpcSocket, socketPath] = await Promise.all([grpc, http].map(listenOnFile));
  const send = (path: string, body?: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      const sent = request({ socketPath, path, method }, (response) => resolve(response.resume().statusCode));
      sent.on("error", reject).end(body);
    });
  return { address: `unix:${grpcSocket}`, send };
}

async function listenOnFile({ accept }: { accept(socket: Socket): void }): Promise<string> {
  const path = join(tempFolder(), "socket");
  const server = createServer(accept).listen(path);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return path;
}

describe("a model's configuration", () => {
  it("reports the batch size, and then omits the batch from the dimensions", async () => {
    const path = "test/fixtures/models/matmul-dynamic-batch.onnx";
    const read = async (options: Record<string, string>) => {
      const { httpUrl } = await startServer({ stages: [{ driver: "onnx", path }], options });
      const [config, metadata] = await Promise.all(
        ["/config", ""].map(async (part) =>
          JSON.parse(await (await fetch(`${httpUrl}/v2/models/default${part}`)).text()),
        ),
      );
      return { ...config, shape: metadata.inputs[0].shape };
    };
    const [alone, together] = [await read({}), await read({ max_batch_size: "8" })];
    expect(alone).toMatchObject({ max_batch_size: 0, input: [{ dims: alone.shape }] });
    expect(alone).not.toHaveProperty("dynamic_batching");
    expect(together).toMatchObject({
      max_batch_size: 8,
      dynamic_batching: {},
      shape: alone.shape,
      input: [{ dims: alone.shape.slice(1) }],
    });
  });
});

describe("statistics", () => {
  it("count requests, runs and their time", async () => {
    const { send, infer } = await start();
    for (let round = 0; round < 3; round++) await infer();
    await send("/v2/models/default/infer", { method: "POST", body: '{"inputs":[]}' });
    const [, text] = await send("/v2/models/default/stats");
    const [{ inference_stats: times, ...counts }] = JSON.parse(text).model_stats;
    expect(counts).toMatchObject({ name: "default", version: "1", inference_count: 3, execution_count: 3 });
    expect(times.success.count).toBe(3);
    expect(times.compute_infer.ns).toBeGreaterThan(0);
    expect(times.success.ns).toBeGreaterThanOrEqual(times.compute_infer.ns);
    expect(counts.batch_stats).toMatchObject([{ batch_size: 1, compute_infer: { count: 3 } }]);
    expect(Date.now() - counts.last_inference).toBeLessThan(60_000);
    expect((await send("/v2/models/no/stats"))[0]).toBe(404);
  });

  it("tell of every part of the time, of what failed, and that nothing is cached", async () => {
    const hooks = defineHooks({
      preprocess: (inputs) => {
        if ("fails" in inputs) throw new Error("as asked");
        return inputs;
      },
    });
    const { grpcAddress } = await startServer({ stages: [{ driver: "null" }], hooks });
    const call = connectKserve(grpcAddress);
    const infer = (name: string) =>
      call("ModelInfer", {
        model_name: "default",
        inputs: [{ name, datatype: "UINT8", shape: [1] }],
        raw_input_contents: [Buffer.of(1)],
      });
    await Promise.all([infer("x"), infer("x")]);
    await expect(infer("fails")).rejects.toThrow("as asked");
    const { model_stats: stats } = await call("ModelStatistics", { name: "default", version: "1" });
    const [{ inference_stats: times }] = stats as [{ inference_stats: Record<string, { count: string; ns: string }> }];
    const counts = Object.fromEntries(Object.entries(times).map(([name, { count }]) => [name, Number(count)]));
    const twice = { success: 2, queue: 2, compute_input: 2, compute_infer: 2, compute_output: 2 };
    expect(counts).toEqual({ ...twice, fail: 1, cache_hit: 0, cache_miss: 0 });
    const ns = (name: string) => Number(times[name]?.ns);
    const parts = ns("queue") + ns("compute_input") + ns("compute_infer") + ns("compute_output");
    expect(parts).toBeCloseTo(ns("success"), -2);
    expect(ns("fail")).toBeGreaterThan(0);
  });
});

describe("priority and timeout", () => {
  const DRIVER = `
import { writeFileSync } from "node:fs";
import { defineDriver } from "kserving";
import { sliceSettings } from "../../../src/platform/limits/settings/server-settings.ts";
let began = 0;
export default defineDriver({
  name: "held", options: {}, pathless: true,
  load: async () => ({
    signatures: { serving_default: {} },
    // The number of runs that began, this one included, tells the order.
    predict: async (inputs) => {
      const order = ++began;
      writeFileSync(BEGAN, "");
      await new Promise((resolve) => setTimeout(resolve, inputs.hold.data[0]));
      return { order: { dtype: "int32", shape: [1], data: Int32Array.of(order) } };
    },
    close: async () => {},
  }),
});`;

  it.each([
    ["without hooks", undefined],
    ["through hook threads", "export const preprocess = (inputs) => inputs;"],
  ])("decide who goes first and who waits no longer, %s", async (_, hookSource) => {
    const began = join(tempFolder(), "began");
    const driver = DRIVER.replace("BEGAN", JSON.stringify(began));
    const folder = tempFolder({ "held.ts": driver, "hooks.ts": hookSource ?? "" });
    const { httpUrl } = await startServer({
      stages: [{ driver: join(folder, "held.ts") }],
      ...(hookSource !== undefined && { hooks: join(folder, "hooks.ts") }),
    });
    const ask = async (holdMs: number, parameters: object) => {
      const inputs = [{ name: "hold", datatype: "INT32", shape: [1], data: [holdMs] }];
      const body = JSON.stringify({ parameters, inputs });
      const response = await fetch(`${httpUrl}/v2/models/default/infer`, { method: "POST", body });
      const answer = JSON.parse(await response.text());
      return answer.error ?? answer.outputs[0].data[0];
    };
    const first = ask(800, {});
    await fileExists(began);
    const [late, last, next] = [ask(0, { timeout: 1000 }), ask(0, {}), ask(0, { priority: 1 })];
    expect(await late).toContain("waited 1 ms in the queue");
    expect([await first, await next, await last]).toEqual([1, 2, 3]);
  });
});
