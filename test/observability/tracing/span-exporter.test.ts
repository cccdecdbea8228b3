import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { newSpanId, newTraceId } from "../../../src/observability/trace-context.ts";
import { readTracingSettings } from "../../../src/observability/tracing/settings.ts";
import { SpanExporter } from "../../../src/observability/tracing/span-exporter.ts";
import type { Span } from "../../../src/observability/tracing/span-message.ts";
import { createEventLog } from "../../helpers/event-log.ts";
import { type CollectorReply, startCollector } from "./start-collector.ts";

/** Spans are sent at once. */
const NOW = { OTEL_BSP_SCHEDULE_DELAY: "1" };
/** A delay that no test waits for. */
const NEVER = { OTEL_BSP_SCHEDULE_DELAY: "100000000" };

function span(name: string): Span {
  const context = { traceId: newTraceId(), spanId: newSpanId() };
  const attributes = { text: "ü", whole: 7, zero: 0, part: 0.5, none: undefined };
  return {
    context,
    name,
    kind: 1,
    startMs: 1_700_000_000_000.125,
    endMs: 1_700_000_000_001,
    attributes,
    isError: false,
  };
}

async function open(env: Record<string, string>, reply?: () => number | CollectorReply) {
  const collector = await startCollector(reply);
  const { log, events, find } = createEventLog();
  const exporter = new SpanExporter(readTracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env }), log);
  return { collector, exporter, events, find };
}

test("spans beyond those that may wait are lost, which the log says", async () => {
  let status = 503;
  const { collector, exporter, find } = await open({ OTEL_BSP_MAX_QUEUE_SIZE: "2" }, () => status);
  exporter.add(["a", "b", "c", "d", "e"].map(span));
  await find({ msg: "spans of traces are lost", lost: 3 });
  status = 200;
  await exporter.close();
  expect(collector.spans.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("spans that fill a message are sent at once, compressed and with the headers that are asked for", async () => {
  const env = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2", OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" };
  const { collector, exporter } = await open({ ...env, OTEL_EXPORTER_OTLP_HEADERS: "api-key=secret" });
  exporter.add([span("a"), span("b")]);
  const [first] = await collector.find("a", "b");
  expect(first).toMatchObject({ startMs: 1_700_000_000_000.125, endMs: 1_700_000_000_001 });
  expect(first!.attributes).toEqual({ text: "ü", whole: 7, zero: 0, part: 0.5 });
  expect(collector.headers).toMatchObject([{ "content-encoding": "gzip", "api-key": "secret" }]);
  await exporter.close();
});

test("spans that a collector refuses for good are not sent again", async () => {
  const { collector, exporter, find } = await open(NOW, () => 400);
  exporter.add([span("a")]);
  await find({ msg: "spans of traces are lost", why: "the collector answers 400" });
  await exporter.close();
  expect(collector.headers).toHaveLength(1);
});

test("the log names the port where a collector speaks another protocol", async () => {
  const server = createTcpServer((socket) => socket.end("\0\0\u0012\u0004")).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { exporter, events } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  exporter.add([span("a")]);
  await exporter.close();
  expect(events[0]).toMatchObject({ why: expect.stringContaining("port 4318") });
});

test("a server ends although nothing listens at the address", async () => {
  const { exporter, find } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  exporter.add([span("a")]);
  await exporter.close();
  expect(await find({ collector: "127.0.0.1:1" })).toMatchObject({ why: expect.stringContaining("ECONNREFUSED") });
});

test("spans that come while others are sent wait until they fill a message", async () => {
  const late = ["b"];
  const { collector, exporter } = await open({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2", ...NEVER }, () => {
    exporter.add(late.splice(0).map(span));
    return 200;
  });
  exporter.add([span("a"), span("a")]);
  await collector.find("a");
  for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate);
  expect(collector.headers).toHaveLength(1);
  exporter.add([span("c")]);
  await collector.find("b", "c");
  expect(collector.headers).toHaveLength(2);
  await exporter.close();
});

test("a message is no larger than the number of spans that may wait", async () => {
  const { collector, exporter } = await open({ OTEL_BSP_MAX_QUEUE_SIZE: "2", ...NEVER });
  exporter.add([span("a"), span("b")]);
  await collector.find("a", "b");
  await exporter.close();
});

test("spans that a collector rejects are lost, for its reason", async () => {
  // An ExportTraceServiceResponse with a partial success: one span, and a text.
  const body = Buffer.concat([Buffer.from([10, 8, 8, 1, 18, 4]), Buffer.from("late")]);
  const reply = { status: 200, headers: { "content-type": "application/x-protobuf" }, body };
  const { collector, exporter, find } = await open(NOW, () => reply);
  exporter.add([span("a"), span("b")]);
  await find({ msg: "spans of traces are lost", lost: 1, why: "the collector rejects them: late" });
  await exporter.close();
  expect(collector.headers).toHaveLength(1);
});

test.each([
  ["application/x-protobuf", Buffer.from([8, 3, 18, 2, 110, 111])],
  ["text/plain; charset=utf-8", "no\n"],
])("the reason of a refusal is logged, as %s", async (type, body) => {
  const reply = { status: 401, headers: { "content-type": type }, body };
  const { exporter, find } = await open(NOW, () => reply);
  exporter.add([span("a")]);
  await find({ msg: "spans of traces are lost", why: "the collector answers 401: no" });
  await exporter.close();
});

test("a message whose answer does not end is not sent again", async () => {
  const reply = { status: 200, body: Buffer.alloc(100_000), isEndless: true };
  const { collector, exporter, events } = await open(NOW, () => reply);
  exporter.add([span("a")]);
  await collector.find("a");
  exporter.add([span("b")]);
  await collector.find("b");
  await exporter.close();
  expect([collector.headers.length, events]).toEqual([2, []]);
});

test("a collector is left alone for as long as it asks for", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let status = 503;
  const { collector, exporter, find } = await open(NOW, () => ({ status, headers: { "retry-after": "100" } }));
  exporter.add([span("a")]);
  vi.advanceTimersByTime(1);
  await find({ why: "the collector answers 503" });
  status = 200;
  const turns = async () => {
    for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate);
  };
  vi.advanceTimersByTime(99_000);
  await turns();
  expect(collector.headers).toHaveLength(1);
  vi.advanceTimersByTime(1000);
  await collector.find("a");
  await exporter.close();
});

test("a server ends in time although its collector does not answer, and the log says what is lost", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { exporter, events } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
  exporter.add([span("a"), span("b")]);
  await exporter.close();
  expect(events.at(-1)).toMatchObject({ msg: "spans of traces are lost", lost: 2, why: expect.stringMatching("3000") });
});
