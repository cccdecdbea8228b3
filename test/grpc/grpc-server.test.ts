import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectSocket } from "node:net";
import { text } from "node:stream/consumers";
import { status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { ServingError } from "../../src/errors.ts";
import { createGrpcServer } from "../../src/grpc/grpc-server.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { toAbortSignal } from "../../src/platform/async/cancel-source.ts";
import { sliceSettings } from "../../src/platform/limits/settings/server-settings.ts";
import { PREDICT_JSON_PATH } from "../../src/protocols/kibernetika/grpc-service.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import type { InferResponse } from "../../src/serving/inference-service.ts";
import { bytesField, encodeMessage } from "../../src/tensor/codecs/protobuf/wire-writer.ts";
import { connect } from "./byte-client.ts";
import { echo, type ScriptedRequest, ScriptedService, serve } from "./scripted-service.ts";

const json = encodeMessage([bytesField(1, Buffer.from("{}"))]);

/** Those of a call made without a gRPC library. */
const CALL_HEADERS = {
  ":method": "POST",
  ":path": PREDICT_JSON_PATH,
  "content-type": "application/grpc",
  te: "trailers",
};

/** A service that keeps its first request until the test lets it go. */
function heldService() {
  let arrived: (request: ScriptedRequest) => void;
  let release: () => void;
  const request = new Promise<ScriptedRequest>((resolve) => {
    arrived = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const service = new ScriptedService(async (incoming): Promise<InferResponse> => {
    arrived(incoming);
    await Promise.race([released, once(toAbortSignal(incoming.signal), "abort")]);
    incoming.signal.throwIfAborted();
    return echo(incoming);
  });
  return { service, request, release: () => release() };
}

describe("a request", () => {
  it("brings its metadata, its id and its deadline, and its answer takes metadata back", async () => {
    const service = new ScriptedService((request) => ({
      ...echo(request),
      metadata: { "x-answer": "yes", "x-raw-bin": "AP8=, AA==", connection: "close", "grpc-status": "9" },
    }));
    const client = connect((await serve(service)).address);
    const sent = Date.now();
    const metadata = { "X-Tag": "a", "x-request-id": "id-7" };
    const answer = await client.call(PREDICT_JSON_PATH, json, { metadata, deadlineMs: 60_000 });
    const [request] = service.requests as [ScriptedRequest];
    expect(request).toMatchObject({ id: "id-7", metadata: { "x-tag": "a" }, model: "", signature: "" });
    expect(Math.abs(request.deadline! - sent - 60_000)).toBeLessThan(2000);
    expect(answer.metadata.get("x-answer")).toEqual(["yes"]);
    expect(answer.metadata.get("x-raw-bin")).toEqual([Buffer.from([0, 255]), Buffer.from([0])]);
  });

  it("without an id gets one of its own, and without a deadline none", async () => {
    const service = new ScriptedService();
    const client = connect((await serve(service)).address);
    await Promise.all([client.call(PREDICT_JSON_PATH, json), client.call(PREDICT_JSON_PATH, json)]);
    const [first, second] = service.requests as [ScriptedRequest, ScriptedRequest];
    expect(first.id).not.toBe(second.id);
    expect(first.deadline).toBeUndefined();
  });

  it("aborts its signal when the client cancels", async () => {
    const { service, request } = heldService();
    const client = connect((await serve(service)).address);
    const controller = new AbortController();
    const call = client.call(PREDICT_JSON_PATH, json, { signal: controller.signal });
    const refused = expect(call).rejects.toMatchObject({ code: status.CANCELLED });
    const { signal } = await request;
    expect(signal.aborted).toBe(false);
    controller.abort();
    await once(toAbortSignal(signal), "abort");
    expect(signal.reason).toMatchObject({ name: "AbortError" });
    await refused;
  });

  it("aborts its signal when the client is gone", async () => {
    const { service, request } = heldService();
    const { address } = await serve(service);
    const session = connectHttp2(`http://${address}`);
    const headers = {
      ":method": "POST",
      ":path": PREDICT_JSON_PATH,
      "content-type": "application/grpc",
      te: "trailers",
    };
    session.request(headers).end(Buffer.concat([Buffer.from([0, 0, 0, 0, json.length]), json]));
    const { signal } = await request;
    const aborted = once(toAbortSignal(signal), "abort");
    session.destroy();
    await aborted;
    expect(signal.reason).toMatchObject({ name: "AbortError" });
  });

  it("aborts its signal as late, and answers so, when its deadline passes", async () => {
    const { service, request } = heldService();
    const client = connect((await serve(service)).address);
    // Connects, which takes time of its own.
    await expect(client.call("/none", json)).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    const refused = expect(client.call(PREDICT_JSON_PATH, json, { deadlineMs: 500 })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
    const { signal } = await request;
    await once(toAbortSignal(signal), "abort");
    expect(signal.reason).toMatchObject({ name: "TimeoutError" });
    await refused;
  });

  it("that went well leaves its signal alone", async () => {
    const service = new ScriptedService();
    const client = connect((await serve(service)).address);
    await client.call(PREDICT_JSON_PATH, json);
    await client.call(PREDICT_JSON_PATH, json);
    expect(service.requests[0]?.signal.aborted).toBe(false);
  });

  it("that claims a byte more than 256 MB is refused before it is sent, where no limit was set", async () => {
    const { address } = await serve(new ScriptedService());
    const session = connectHttp2(`http://${address}`);
    onTestFinished(() => session.destroy());
    const call = session.request(CALL_HEADERS);
    const claim = Buffer.from([0, 0x10, 0, 0, 1]);
    call.write(claim);
    const [answer] = await once(call, "response");
    expect(answer["grpc-status"]).toBe(String(status.RESOURCE_EXHAUSTED));
    expect(decodeURI(answer["grpc-message"])).toContain("268435457 vs 268435456");
  });
});

describe("a request that is not one for a method", () => {
  it.each([
    [{ "content-type": "application/json" }, 415],
    [{ ":method": "GET" }, 405],
  ])("with %j gets HTTP status %i", async (headers, httpStatus) => {
    const { address } = await serve(new ScriptedService());
    const session = connectHttp2(`http://${address}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ...CALL_HEADERS, ...headers }).end();
    const [answer] = await once(stream, "response");
    expect(answer[":status"]).toBe(httpStatus);
    expect(await text(stream)).toContain("This port serves gRPC");
  });

  it("is a call of an unknown method: it is refused, naming the method", async () => {
    const client = connect((await serve(new ScriptedService())).address);
    await expect(client.call("/a.Service/None", json)).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: "The server does not implement the method /a.Service/None",
    });
  });
});

describe("a failure", () => {
  async function failWith(error: unknown) {
    const events: string[] = [];
    const log = createSilentLogger();
    const record = (level: string) => (message: string, fields?: object) => {
      events.push(`${level} ${message} ${(fields as { err?: Error }).err?.message ?? ""}`);
    };
    const recording = { ...log, error: record("error"), debug: record("debug") };
    const service = new ScriptedService(() => {
      throw error;
    });
    const client = connect((await serve(service, { log: recording })).address);
    const failure = await client.call(PREDICT_JSON_PATH, json).catch((reason: unknown) => reason);
    return { failure, events };
  }

  it("of ours reaches the client with its code and message, percent signs and letters included", async () => {
    const { failure, events } = await failWith(new ServingError("aborted", '100 % ü €😀 "x"\nline'));
    expect(failure).toMatchObject({ code: status.ABORTED, details: '100 % ü €😀 "x"\nline' });
    expect(events).toEqual(["debug request refused "]);
  });

  it("that was not expected shows the client nothing, and is logged completely", async () => {
    const { failure, events } = await failWith(new TypeError("secret"));
    expect(failure).toMatchObject({
      code: status.INTERNAL,
      details: "Internal error; the server's log has the cause.",
    });
    expect(events).toEqual(["error request failed secret"]);
  });

  it("of a service that answers in another kind is internal", async () => {
    const service = new ScriptedService((request) => ({ ...echo(request), outputs: { kind: "tensors", tensors: {} } }));
    const client = connect((await serve(service)).address);
    await expect(client.call(PREDICT_JSON_PATH, json)).rejects.toMatchObject({ code: status.INTERNAL });
  });
});

describe("listening", () => {
  it("on a port that is taken is refused, saying so, and leaves the service alone", async () => {
    const { address, port } = await serve(new ScriptedService());
    const service = new ScriptedService();
    const own = { settings: sliceSettings({}), log: createSilentLogger() };
    const options = { host: "127.0.0.1", port, protocols: PROTOCOLS, ...own };
    await expect(createGrpcServer(service, options)).rejects.toMatchObject({
      code: "unavailable",
      message: `Cannot listen on ${address}: the port is in use; choose another, or 0 for any free one.`,
    });
    expect(service.listeners.size).toBe(0);
  });

  it("works on IPv6", async () => {
    const { address, port } = await serve(new ScriptedService(), { host: "::1" });
    expect(address).toBe(`[::1]:${port}`);
    await connect(address).call(PREDICT_JSON_PATH, json);
  });
});

describe("closing", () => {
  it("refuses new connections, finishes what is under way, and is done once", async () => {
    const { service, request, release } = heldService();
    const server = await serve(service);
    const client = connect(server.address);
    const answer = client.call(PREDICT_JSON_PATH, json);
    await request;
    const closing = server.close(60_000);
    expect(server.close(0)).toBe(closing);
    const [refusal] = await once(connectSocket(server.port, "127.0.0.1"), "error");
    expect(refusal).toMatchObject({ code: "ECONNREFUSED" });
    release();
    expect((await answer).bytes).toEqual(json);
    await closing;
  });

  it("does not wait for connections on which nothing happens", async () => {
    const server = await serve(new ScriptedService());
    // A client that reads nothing does not see that the server ends the connection, and does not end it either.
    const silent = connectSocket(server.port, "127.0.0.1");
    await once(silent, "connect");
    const idle = connect(server.address);
    await idle.call(PREDICT_JSON_PATH, json);
    await server.close(600_000);
    silent.destroy();
  });

  it("cuts what is still under way after the drain timeout", async () => {
    const { service, request } = heldService();
    const server = await serve(service);
    const refused = expect(connect(server.address).call(PREDICT_JSON_PATH, json)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
    const { signal } = await request;
    await server.close(20);
    await refused;
    expect(signal.aborted).toBe(true);
  });
});
