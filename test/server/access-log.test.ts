import { connect as connectHttp2 } from "node:http2";
import { type ClientDuplexStream, credentials, Metadata } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Hooks } from "../../src/hooks/hooks.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import type { Values } from "../../src/tensor/plain-value.ts";
import { authFiles, bearer, TOKENS } from "../access/auth-fixture.ts";
import { connect } from "../grpc/byte-client.ts";
import type { Plain } from "../grpc/oracle.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { streamKserve } from "../helpers/kserve-grpc.ts";
import { startServer } from "../helpers/start-server.ts";
import { KserveClient } from "../protocols/kserve/kserve-oracle.ts";
import { RawClient } from "../proxy/raw-client.ts";

const INPUT = { name: "x", datatype: "FP32", shape: [2] };
const V2_JSON = JSON.stringify({ id: "v2-id", inputs: [{ ...INPUT, data: [1, 2] }] });
const V2_MESSAGE = { model_name: "default", id: "", inputs: [{ ...INPUT, contents: { fp32_contents: [1, 2] } }] };
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const MS = expect.any(Number);
const TIMES = { deserializationMs: MS, inferenceMs: MS, serializationMs: MS, totalMs: MS };

async function start(
  options: Partial<ServerOptions> = { accessLog: true },
  level: "info" | "debug" | "trace" = "info",
) {
  const { log, events, find } = createEventLog(level);
  const server = await startServer({ stages: [{ driver: "null" }], log, ...options });
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(server.httpUrl + path, { method: "POST", body, headers });
  return { server, events, find, post };
}

function kserve(address: string, options: object = {}): InstanceType<typeof KserveClient> {
  const client = new KserveClient(address, credentials.createInsecure(), options);
  onTestFinished(() => client.close());
  return client;
}

function infer(client: InstanceType<typeof KserveClient>, message: Plain, ids: Record<string, string> = {}) {
  const metadata = Metadata.fromHttp2Headers(ids);
  return new Promise<unknown>((resolve) => {
    (client.ModelInfer as (...args: unknown[]) => void)(message, metadata, (error: unknown) => resolve(error));
  });
}

describe("a request over HTTP has one line", () => {
  test("TensorFlow Serving's, with the id of x-request-id", async () => {
    const { post, find, events } = await start();
    const body = '{"instances": [1, 2]}';
    await post("/v1/models/default:predict", body, { "x-request-id": "mine" });
    const { requestBytes, responseBytes, ...line } = await find({ requestId: "mine" });
    expect(line).toEqual({
      level: "info",
      time: expect.any(String),
      msg: "request",
      requestId: "mine",
      model: "default",
      version: "1",
      client: "127.0.0.1",
      protocol: "http",
      method: "POST",
      path: "/v1/models/default:predict",
      status: 200,
      queueMs: MS,
      modelMs: MS,
      ...TIMES,
    });
    expect([requestBytes, Number(responseBytes) > 10]).toEqual([body.length, true]);
    expect(events.filter(({ msg }) => msg === "request")).toHaveLength(1);
  });

  test("KServe V2's, with the id of its body", async () => {
    const { post, find } = await start();
    await post("/v2/models/default/infer", V2_JSON);
    expect(await find({ requestId: "v2-id" })).toMatchObject({ model: "default", version: "1", status: 200, ...TIMES });
  });

  test("the original's, with the trace id of traceparent", async () => {
    const { post, find } = await start();
    await post("/serving-proxy", '{"x": 1}', { traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` });
    expect(await find({ requestId: TRACE_ID })).toMatchObject({ path: "/serving-proxy", model: "default", ...TIMES });
  });

  test.each([
    ["an unknown model", "POST", "/v2/models/nosuch/infer", '{"inputs": []}', { status: 404, model: "nosuch" }],
    ["malformed JSON", "POST", "/v1/models/default:predict", "{", { status: 400, model: "default" }],
    ["no route, and no query string", "GET", "/nothing?key=secret", undefined, { status: 404, path: "/nothing" }],
    ["no inference", "GET", "/v2/health/ready", undefined, { status: 200 }],
    ["a method that is not possible", "GET", "/serving-proxy", undefined, { status: 405 }],
  ])("with %s", async (_, method, path, body, expected) => {
    const { server, find } = await start();
    await fetch(server.httpUrl + path, { method, headers: { "x-request-id": "mine" }, ...(body && { body }) });
    expect(await find({ requestId: "mine" })).toMatchObject({ msg: "request", method, totalMs: MS, ...expected });
  });

  test("whose client left before its answer, with status 499", async () => {
    const { server, find } = await start();
    const client = new RawClient(Number(new URL(server.httpUrl).port));
    client.write("POST /serving-proxy HTTP/1.1\r\nHost: a\r\nX-Request-Id: gone\r\nContent-Length: 100\r\n\r\n{");
    client.socket.once("connect", () => setImmediate(() => client.socket.resetAndDestroy()));
    expect(await find({ requestId: "gone" })).toMatchObject({ status: 499 });
  });

  test("whose client left in the middle of its answer, as one that was cut; metrics count it as 499", async () => {
    const { server, find } = await start();
    const data = `[${"1.5,".repeat(1_500_000)}1]`;
    const body = `{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1500001], "data": ${data}}]}`;
    const client = new RawClient(Number(new URL(server.httpUrl).port));
    client.write(`POST /v2/models/default/infer HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    client.socket.once("data", () => client.socket.resetAndDestroy());
    const line = await find({ msg: "request" });
    expect(line).toMatchObject({ model: "default", status: 200, cut: true });
    // The rest of the answer was not written any more.
    expect([Number(line.responseBytes) > 0, Number(line.responseBytes) < 6_000_000]).toEqual([true, true]);
    const metrics = await (await fetch(`${server.httpUrl}/metrics`)).text();
    expect(/requests_total\{model="default".*/.exec(metrics)?.[0]).toContain('status="499"} 1');
  });

  test("without a Host header", async () => {
    const { server, find } = await start();
    new RawClient(Number(new URL(server.httpUrl).port)).write("GET / HTTP/1.1\r\nX-Request-Id: mine\r\n\r\n");
    expect(await find({ requestId: "mine" })).toMatchObject({ status: 400 });
  });
});

test("the line of an answer in parts tells how many they were, and the time until the first", async () => {
  const hooks: Hooks = {
    async *process({ x }) {
      for (let number = 0; number < Number(x?.data[0]); number++) yield { number };
    },
  };
  const { server, post, find } = await start({ accessLog: true, hooks });
  const path = "/v2/models/default/generate_stream";
  for (const count of [3, 0]) {
    await (await post(path, JSON.stringify({ id: `http-${count}`, x: count }))).text();
    const message = {
      ...V2_MESSAGE,
      id: `grpc-${count}`,
      inputs: [{ ...INPUT, contents: { fp32_contents: [count, 0] } }],
    };
    await streamKserve(server.grpcAddress, [message], new Metadata());
  }
  for (const wire of ["http", "grpc"]) {
    const line = await find({ requestId: `${wire}-3` });
    expect(line).toMatchObject({ protocol: wire, parts: 3, firstPartMs: MS });
    expect(line.firstPartMs).toBeLessThanOrEqual(Number(line.totalMs));
    const empty = await find({ requestId: `${wire}-0` });
    expect([empty.parts, empty.firstPartMs]).toEqual([0, undefined]);
  }
});

describe("the id of a request is given back", () => {
  test("over HTTP, whatever the answer", async () => {
    const { post, server, find } = await start();
    const idOf = async (answer: Promise<Response>) => (await answer).headers.get("x-request-id");
    const mine = { "x-request-id": "mine" };
    expect(await idOf(post("/v1/models/default:predict", '{"instances": [1]}', mine))).toBe("mine");
    expect(await idOf(post("/v2/models/default/infer", V2_JSON, mine))).toBe("v2-id");
    expect(await idOf(post("/v1/models/default:predict", "{", mine))).toBe("mine");
    expect(await idOf(fetch(`${server.httpUrl}/nothing`, { headers: mine }))).toBe("mine");
    const made = await idOf(post("/serving-proxy", "{}", {}));
    expect(await find({ path: "/serving-proxy" })).toMatchObject({ requestId: made });
  });

  test("but not where it would be a second header", async () => {
    const { post } = await start();
    const id = "v2\r\nset-cookie: a=b";
    const answer = await post("/v2/models/default/infer", V2_JSON.replace("v2-id", JSON.stringify(id).slice(1, -1)));
    expect([answer.status, answer.headers.get("x-request-id"), answer.headers.get("set-cookie")]).toEqual([
      200,
      null,
      null,
    ]);
  });

  test("unless a hook sends another", async () => {
    const hooks = {
      preprocess: (inputs: Values, ctx: { response: { metadata: Record<string, string> } }) => {
        ctx.response.metadata["x-request-id"] = "the hook's";
        return inputs;
      },
    };
    const { post } = await start({ hooks });
    const answer = await post("/serving-proxy", "{}", { "x-request-id": "mine" });
    expect(answer.headers.get("x-request-id")).toBe("the hook's");
  });

  test("over gRPC with an error", async () => {
    const { server } = await start();
    const error = await infer(
      kserve(server.grpcAddress),
      { ...V2_MESSAGE, model_name: "no" },
      { "x-request-id": "mine" },
    );
    expect((error as { metadata: Metadata }).metadata.get("x-request-id")).toEqual(["mine"]);
  });
});

test("a line tells the client's address, behind a trusted proxy as that has it", async () => {
  const { server, post, find } = await start({ accessLog: true, trustedProxies: ["127.0.0.1"] });
  await post("/serving-proxy", "{}", { "x-request-id": "direct" });
  await post("/serving-proxy", "{}", { "x-request-id": "behind", "x-forwarded-for": "192.0.2.7" });
  await infer(kserve(server.grpcAddress), V2_MESSAGE, { "x-request-id": "grpc", "x-forwarded-for": "2001:db8::7" });
  expect((await find({ requestId: "direct" })).client).toBe("127.0.0.1");
  expect((await find({ requestId: "behind" })).client).toBe("192.0.2.7");
  expect((await find({ requestId: "grpc" })).client).toBe("2001:db8::7");
});

test("bytes that are not an HTTP request have a line with the status of their answer", async () => {
  const { server, find } = await start();
  new RawClient(Number(new URL(server.httpUrl).port)).write("garbage\r\n\r\n");
  expect(await find({ msg: "request", path: "" })).toMatchObject({ protocol: "http", status: 400 });
});

describe("a request over gRPC has one line", () => {
  const rpc = "/inference.GRPCInferenceService/ModelInfer";

  test.each([
    ["on a stream of our own", {}],
    ["through grpc-js, compressed", { "grpc.default_compression_algorithm": 2 }],
  ])("%s", async (_, options) => {
    const { server, find, events } = await start();
    const client = kserve(server.grpcAddress, options);
    await infer(client, V2_MESSAGE, { "x-request-id": "mine" });
    const line = await find({ requestId: "mine" });
    expect(line).toMatchObject({ msg: "request", protocol: "grpc", path: rpc, status: 0, code: "ok", ...TIMES });
    expect(line).toMatchObject({ model: "default", version: "1", requestBytes: MS, responseBytes: MS });
    expect(Number(line.requestBytes) > 20 && Number(line.responseBytes) > 20).toBe(true);
    expect(events.filter(({ msg }) => msg === "request")).toHaveLength(1);
  });

  test("with an unknown model, and the id of its message", async () => {
    const { server, find } = await start();
    await infer(kserve(server.grpcAddress), { ...V2_MESSAGE, model_name: "nosuch", id: "v2-id" });
    expect(await find({ requestId: "v2-id" })).toMatchObject({ model: "nosuch", status: 5, code: "not_found" });
  });

  test("with an unknown method", async () => {
    const { server, find } = await start();
    const call = connect(server.grpcAddress).call("/nothing.Service/Call", Buffer.alloc(0));
    await expect(call).rejects.toThrow();
    expect(await find({ path: "/nothing.Service/Call" })).toMatchObject({ status: 12, code: "unimplemented" });
  });

  test("whose client left before its answer", async () => {
    const { server, find } = await start();
    const session = connectHttp2(`http://${server.grpcAddress}`);
    onTestFinished(() => session.destroy());
    const headers = { ":method": "POST", ":path": rpc, "content-type": "application/grpc", "x-request-id": "gone" };
    const stream = session.request(headers);
    stream.on("error", () => {});
    stream.write("\0");
    await new Promise((resolve) => session.ping(resolve));
    stream.close(8);
    expect(await find({ requestId: "gone" })).toMatchObject({ status: 1, code: "cancelled" });
  });

  test("and each message of a stream has its own", async () => {
    const { server, find, events } = await start();
    const stream = (kserve(server.grpcAddress).ModelStreamInfer as () => ClientDuplexStream<Plain, Plain>)();
    for (const id of ["one", "two"]) stream.write({ ...V2_MESSAGE, id });
    stream.write({ ...V2_MESSAGE, id: "three", model_name: "nosuch" });
    stream.end();
    for await (const _ of stream);
    const whole = await find({ msg: "stream" });
    expect(whole).toMatchObject({ messages: 3, status: 0 });
    const lines = events.filter(({ msg }) => msg === "request");
    expect(whole.requestBytes).toBe(lines.reduce((sum, { requestBytes }) => sum + Number(requestBytes), 0));
    const line = { msg: "request", status: 0, model: "default", client: "127.0.0.1", ...TIMES };
    expect(await find({ requestId: "one" })).toMatchObject(line);
    expect(await find({ requestId: "three", msg: "request" })).toMatchObject({ status: 5, model: "nosuch" });
    expect(events.filter(({ msg }) => msg === "request")).toHaveLength(3);
  });
});

test("each message of a stream has the name of its caller", async () => {
  const { server, find } = await start({ accessLog: true, auth: await authFiles() });
  const metadata = new Metadata();
  metadata.set("authorization", bearer(TOKENS.user));
  const client = kserve(server.grpcAddress);
  const stream = (client.ModelStreamInfer as (metadata: Metadata) => ClientDuplexStream<Plain, Plain>)(metadata);
  stream.write({ ...V2_MESSAGE, id: "one" });
  stream.end();
  for await (const _ of stream);
  expect(await find({ requestId: "one" })).toMatchObject({ msg: "request", user: "token:user" });
});

test("without --access-log the lines are there at level debug alone", async () => {
  const quiet = await start({});
  await quiet.post("/serving-proxy", "{}");
  const verbose = await start({}, "debug");
  await verbose.post("/serving-proxy", "{}", { "x-request-id": "mine" });
  expect(await verbose.find({ requestId: "mine", msg: "request" })).toMatchObject({ level: "debug" });
  expect(quiet.events.filter(({ msg }) => msg === "request")).toEqual([]);
});

test("no line has anything of a body", async () => {
  const { post, find, events } = await start({ accessLog: true }, "info");
  await post(
    "/v2/models/default/infer",
    '{"inputs": [{"name": "secret", "shape": [1], "datatype": "NONE", "data": [1]}]}',
  );
  await post("/serving-proxy", '{"secret": 1}');
  await find({ path: "/serving-proxy" });
  expect(JSON.stringify(events)).not.toContain("secret");
});

test("neither a line nor an answer has secrets", async () => {
  const url = "https://user:CANARY@models.example/m?X-Amz-Signature=CANARY&token=CANARY";
  const hooks = {
    preprocess: (_: unknown, ctx: { log: { info(message: string, fields: Record<string, unknown>): void } }) => {
      ctx.log.info(`from ${url}`, { options: { api_key: "CANARY" }, metadata: { authorization: "Bearer CANARY" } });
      throw new Error(`cannot reach ${url}`, { cause: new Error(`password=CANARY`) });
    },
  };
  const { server, post, events, find } = await start({ hooks });
  const overHttp = await (await post("/serving-proxy", "{}")).text();
  const overGrpc = String(await infer(kserve(server.grpcAddress), V2_MESSAGE));
  await find({ msg: "request failed" });
  expect(overHttp).toContain("https://***@models.example/m?X-Amz-Signature=***&token=***");
  expect(overHttp + overGrpc + JSON.stringify(events)).not.toContain("CANARY");
});

describe("what fails carries the request's id", () => {
  const hooks = {
    preprocess: (_: unknown, ctx: { log: { info(message: string): void } }) => {
      const { info } = ctx.log;
      info("from the hook");
      throw new Error("broken");
    },
  };

  test("in the lines of its hook and of its failure, over HTTP", async () => {
    const { post, find } = await start({ hooks });
    await post("/serving-proxy", "{}", { "x-request-id": "mine" });
    expect(await find({ msg: "from the hook" })).toMatchObject({ requestId: "mine" });
    expect(await find({ msg: "request failed" })).toMatchObject({ requestId: "mine", model: "default", version: "1" });
  });

  test("and of what the client chose no more than a beginning, without its query string", async () => {
    const { post, find } = await start({ hooks });
    const id = "i".repeat(1000);
    await post(`/serving-proxy?key=secret`, "{}", { "x-request-id": id });
    const requestId = id.slice(0, 200);
    expect(await find({ msg: "from the hook" })).toMatchObject({ requestId });
    const failed = await find({ msg: "request failed" });
    expect(failed).toMatchObject({ requestId, method: "POST", path: "/serving-proxy", status: 500, code: "internal" });
    expect(JSON.stringify(failed)).not.toContain("secret");
  });

  test("in the line of its model's run too", async () => {
    const { post, find } = await start({}, "trace");
    const id = "i".repeat(1000);
    await post("/v2/models/default/infer", V2_JSON.replace("v2-id", id));
    expect(await find({ msg: "predict" })).toMatchObject({ requestId: id.slice(0, 200) });
  });

  test("over gRPC", async () => {
    const { server, find } = await start({ hooks });
    await infer(kserve(server.grpcAddress), { ...V2_MESSAGE, id: "mine" });
    expect(await find({ msg: "from the hook" })).toMatchObject({ requestId: "mine" });
    expect(await find({ msg: "request failed" })).toMatchObject({ requestId: "mine", model: "default" });
  });
});
