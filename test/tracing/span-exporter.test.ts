import { expect, test } from "vitest";
import { newSpanId, newTraceId } from "../../src/observability/trace-context.ts";
import { readTracingSettings } from "../../src/tracing/settings.ts";
import type { Span } from "../../src/tracing/span.ts";
import { SpanExporter } from "../../src/tracing/span-exporter.ts";
import { createEventLog } from "../helpers/event-log.ts";
import { startCollector } from "./start-collector.ts";

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

async function open(env: Record<string, string>, status?: () => number) {
  const collector = await startCollector(status);
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
  const { collector, exporter, find } = await open({ OTEL_BSP_SCHEDULE_DELAY: "1" }, () => 400);
  exporter.add([span("a")]);
  await find({ msg: "spans of traces are lost", why: "the collector answers 400" });
  await exporter.close();
  expect(collector.headers).toHaveLength(1);
});

test("a server ends although nothing listens at the address", async () => {
  const { exporter, find } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" });
  exporter.add([span("a")]);
  await exporter.close();
  expect(await find({ collector: "127.0.0.1:1" })).toMatchObject({ why: expect.stringContaining("ECONNREFUSED") });
});
