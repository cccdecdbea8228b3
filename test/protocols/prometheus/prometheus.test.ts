import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import { METRICS } from "../../../src/observability/metrics/catalogue.ts";
import type { ServerOptions } from "../../../src/server/server-options.ts";
import { hasPromtool, lintMetrics } from "../../helpers/find-promtool.ts";
import { startServer } from "../../helpers/start-server.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { KserveClient } from "../kserve/kserve-oracle.ts";

const V2 = { inputs: [{ name: "x", datatype: "FP32", shape: [2], data: [1, 2] }] };
const PREDICT = "/v1/models/default:predict";
const OPENMETRICS = { accept: "application/openmetrics-text" };

async function start(options: Partial<ServerOptions> = { stages: [{ driver: "null" }] }) {
  const server = await startServer(options);
  const post = async (path: string, body: unknown) => {
    const response = await fetch(server.httpUrl + path, { method: "POST", body: JSON.stringify(body) });
    await response.text();
  };
  const scrape = async (path = "/metrics", headers: Record<string, string> = {}) =>
    (await fetch(server.httpUrl + path, { headers })).text();
  /** Lines of a metric, once there is one that begins so: a request is counted when its answer has been sent. */
  const lines = async (start: string, path?: string) => {
    let found: string[] = [];
    await expect
      .poll(async () => {
        found = (await scrape(path)).split("\n").filter((line) => line.startsWith(start));
        return found.length;
      })
      .toBeGreaterThan(0);
    return found;
  };
  return { server, post, scrape, lines };
}

function infer(address: string, message: object): Promise<unknown> {
  const client = new KserveClient(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  return new Promise((resolve) => {
    (client.ModelInfer as (...args: unknown[]) => void)(message, (error: unknown) => resolve(error));
  });
}

describe("GET /metrics", () => {
  test("counts requests by the version that answered, the protocol, the method and the status", async () => {
    const { server, post, lines } = await start();
    await post("/v2/models/default/infer", V2);
    await post(PREDICT, { instances: [1, 2] });
    await post(PREDICT, { instances: "no" });
    await infer(server.grpcAddress, { model_name: "default" });
    const of = (protocol: string, method: string, status: string, model = 'model="default",version="1"') =>
      `kserving_requests_total{${model},protocol="${protocol}",method="${method}",status="${status}"} 1`;
    const predict = "POST /v1/models/:name{/versions/:version}:predict";
    const expected = [
      of("kserve", "POST /v2/models/:name/infer", "200"),
      of("tensorflow-serving", predict, "200"),
      of("tensorflow-serving", predict, "400", 'model="",version=""'),
      of("kserve", "/inference.GRPCInferenceService/ModelInfer", "ok"),
    ];
    const isNoScrape = (line: string) => !line.includes('protocol="prometheus"');
    await expect.poll(async () => (await lines("kserving_requests_total")).filter(isNoScrape)).toEqual(expected);
  });

  test("never has a name that a client wrote", async () => {
    const { server, post, lines, scrape } = await start();
    await post("/v1/models/hostile:predict", { instances: [1] });
    await post("/v2/models/hostile/infer", V2);
    await post("/hostile", {});
    await infer(server.grpcAddress, { model_name: "hostile" });
    await lines('kserving_requests_total{model="",version="",protocol="",method="",status="404"}');
    await lines('kserving_requests_total{model="",version="",protocol="kserve",method="/inference');
    expect(await scrape()).not.toContain("hostile");
  });

  test("has the times of each part, and the runs of the model", async () => {
    const { post, lines } = await start();
    await post(PREDICT, { instances: [1, 2, 3] });
    for (const part of ["duration", "decode", "inference", "encode"]) {
      const [count] = await lines(`kserving_request_${part}_seconds_count{model="default"`);
      expect(count).toMatch(/ 1$/);
    }
    expect(await lines("kserving_model_run_seconds_count")).toEqual([
      'kserving_model_run_seconds_count{model="default",version="1"} 1',
    ]);
    expect(await lines('kserving_model_batch_rows_bucket{model="default",version="1",le="1.0"}')).toHaveLength(1);
  });

  test("counts the bytes of requests and answers", async () => {
    const { post, lines } = await start();
    await post(PREDICT, { instances: [1, 2] });
    const [received] = await lines('kserving_request_received_bytes_total{protocol="tensorflow-serving"}');
    const [sent] = await lines('kserving_request_sent_bytes_total{protocol="tensorflow-serving"}');
    expect([Number(received?.split(" ").at(-1)), Number(sent?.split(" ").at(-1))]).toEqual([19, 34]);
  });

  test("reports states, and forgets a removed version", async () => {
    const models = { here: { driver: "null" }, gone: { driver: "null" } };
    const { server, post, lines, scrape } = await start({ models });
    await post("/v1/models/gone:predict", { instances: [1] });
    await lines('kserving_requests_total{model="gone"');
    await server.unload("gone");
    expect(await lines("kserving_model_state")).toEqual([
      'kserving_model_state{model="here",version="1",state="AVAILABLE"} 1',
      'kserving_model_state{model="gone",version="1",state="END"} 1',
    ]);
    expect(await scrape()).toContain('kserving_model_ready{model="gone",version="1"} 0');
  });

  test("has every metric of the catalogue, and no other", async () => {
    const { post, lines, scrape } = await start();
    await post(PREDICT, { instances: [1, 2] });
    await lines("kserving_request_encode_seconds_count");
    const names = [...(await scrape()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    const expected = Object.entries(METRICS).map(([name, { type }]) => [name, type]);
    expect(names.toSorted()).toEqual(expected.toSorted());
  });

  test("answers in OpenMetrics where a scraper asks for it, and in Prometheus' text afterwards", async () => {
    const { server, scrape } = await start();
    const response = await fetch(`${server.httpUrl}/metrics`, { headers: OPENMETRICS });
    expect(response.headers.get("content-type")).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(await response.text()).toMatch(/# TYPE kserving_requests counter\n[\s\S]*# EOF\n$/);
    expect(await scrape()).toContain("# TYPE kserving_requests_total counter");
  });

  test("also has Triton's names on request", async () => {
    const { post, lines } = await start();
    await post("/v2/models/default/infer", V2);
    expect(await lines("nv_inference_request_success", "/metrics?names=triton")).toEqual([
      'nv_inference_request_success{model="default",version="1"} 1',
    ]);
  });
});

test("TensorFlow Serving's path has its names, for the requests of its protocol", async () => {
  const { server, post, lines } = await start();
  await post("/v2/models/default/infer", V2);
  await post(PREDICT, { instances: [1, 2] });
  await post(PREDICT, { instances: 1 });
  await fetch(`${server.httpUrl}/v1/models/nothing`);
  const path = "/monitoring/prometheus/metrics";
  await expect
    .poll(() => lines(":tensorflow:serving:request_count", path))
    .toEqual([
      ':tensorflow:serving:request_count{model_name="default",status="OK"} 1',
      ':tensorflow:serving:request_count{model_name="",status="INVALID_ARGUMENT"} 1',
      ':tensorflow:serving:request_count{model_name="",status="NOT_FOUND"} 1',
    ]);
  expect(await lines(':tensorflow:serving:request_latency_count{model_name="default"', path)).toEqual([
    ':tensorflow:serving:request_latency_count{model_name="default",API="predict",entrypoint="REST"} 1',
  ]);
});

test("TensorFlow Serving's names tell of examples, and of the time in models by API", async () => {
  const { post, lines } = await start();
  const examples = [{ outputs: 0.5 }, { outputs: 1.5 }, { outputs: 2.5 }];
  await post("/v1/models/default:regress", { examples });
  await post("/v1/models/default:regress", { examples: examples.slice(0, 1) });
  await post(PREDICT, { instances: [1, 2] });
  const path = "/monitoring/prometheus/metrics";
  const of = (name: string) => lines(`:tensorflow:serving:${name}`, path);
  const total = ':tensorflow:serving:request_example_count_total{model="default"} 4';
  await expect.poll(() => of("request_example_count_total{")).toEqual([total]);
  expect(await of('request_example_counts_bucket{model="default",le="2.0"}')).toEqual([
    ':tensorflow:serving:request_example_counts_bucket{model="default",le="2.0"} 1',
  ]);
  await expect
    .poll(() => of("runtime_latency_count{"))
    .toEqual([
      ':tensorflow:serving:runtime_latency_count{model_name="default",API="Regress",runtime="kserving"} 2',
      ':tensorflow:serving:runtime_latency_count{model_name="default",API="Predict",runtime="kserving"} 1',
    ]);
});

test("TensorFlow Serving's names of batches are there while a batched model is", async () => {
  const models = { plain: { driver: "null" }, batched: { driver: "null", options: { max_batch_size: "8" } } };
  const { server, post, lines, scrape } = await start({ models });
  for (const name of ["plain", "batched", "batched"]) await post(`/v1/models/${name}:predict`, { instances: [1] });
  const path = "/monitoring/prometheus/metrics";
  expect(await lines(":tensorflow:serving:batching_session:wrapped_run_count ", path)).toEqual([
    ":tensorflow:serving:batching_session:wrapped_run_count 2",
  ]);
  expect(await lines(":tensorflow:serving:batching_session:queuing_latency_count{", path)).toEqual([
    ':tensorflow:serving:batching_session:queuing_latency_count{thread_pool_name="batch_threads"} 2',
  ]);
  await server.unload("batched");
  expect(await scrape(path)).not.toContain("wrapped_run_count 2");
});

test.each(["/metrics", "/stats/m*:(x)"])("another path for those counts before our own: %s", async (path) => {
  const { post, lines } = await start({ stages: [{ driver: "null" }], tensorflowMetricsPath: path });
  await post(PREDICT, { instances: [1, 2] });
  const [line] = await lines(":tensorflow:serving:request_count{", path);
  expect(line).toBe(':tensorflow:serving:request_count{model_name="default",status="OK"} 1');
});

test("records of requests are counted by their outcome, under TensorFlow Serving's name too", async () => {
  const models = { kept: { driver: "null" }, lost: { driver: "null", requestLog: { prefix: "/dev/null/log" } } };
  const { post, lines } = await start({ models, requestLog: { prefix: join(tempFolder(), "log") } });
  for (const name of ["kept", "lost"]) await post(`/v1/models/${name}:predict`, { instances: [1] });
  const ours = () => lines("kserving_requests_recorded_total{");
  await expect
    .poll(ours)
    .toEqual([
      'kserving_requests_recorded_total{model="kept",outcome="ok"} 1',
      'kserving_requests_recorded_total{model="lost",outcome="unavailable"} 1',
    ]);
  expect(await lines(":tensorflow:serving:request_log_count{", "/monitoring/prometheus/metrics")).toEqual([
    ':tensorflow:serving:request_log_count{model_name="kept",status_code="OK"} 1',
    ':tensorflow:serving:request_log_count{model_name="lost",status_code="UNAVAILABLE"} 1',
  ]);
});

test.skipIf(!hasPromtool())("promtool finds nothing to say", async () => {
  const { post, lines, scrape } = await start();
  await post(PREDICT, { instances: [1, 2] });
  await lines("kserving_request_encode_seconds_count");
  expect(lintMetrics(await scrape())).toBe("");
});
