import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect, onTestFinished, vi } from "vitest";

const definitions = loadSync("trace_service.proto", {
  includeDirs: [fileURLToPath(new URL("../../fixtures/opentelemetry", import.meta.url))],
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
});
const { Export } = definitions["opentelemetry.proto.collector.trace.v1.TraceService"] as ServiceDefinition;

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly id: string;
  /** Empty = none. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  readonly kind: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly events: readonly { readonly name: string; readonly atMs: number }[];
  readonly links: readonly { readonly traceId: string; readonly id: string }[];
  readonly status: string;
}

/** A stand-in for a collector of OpenTelemetry: takes what is sent to it over OTLP. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Headers of the messages. */
  readonly headers: readonly NodeJS.Dict<string | string[]>[];
  /** Resolves with the spans once there is one of each name, in the order of the names. */
  find(...names: string[]): Promise<readonly ReceivedSpan[]>;
}

/** An answer of a collector that is more than a status. */
export interface CollectorReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** True where the body has no end. */
  readonly isEndless?: boolean;
}

/** Starts a collector that answers with a status, and points OpenTelemetry's variables to it until the test ends. */
export async function startCollector(reply: () => number | CollectorReply = () => 200): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    headers.push({ ...request.headers, path: request.url });
    const message = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    const given = reply();
    const {
      status,
      headers: sent,
      body: told = "",
      isEndless,
    }: CollectorReply = typeof given === "number" ? { status: given } : given;
    if (status === 200) spans.push(...read(Export!.requestDeserialize(message) as Message));
    response.writeHead(status, sent);
    if (isEndless) response.write(told);
    else response.end(told);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
  vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "20");
  const find = async (...names: string[]) => {
    const found = () => names.map((name) => spans.find((span) => span.name === name));
    await expect.poll(() => found().map((span) => span?.name), { timeout: 10_000, interval: 10 }).toEqual(names);
    return found() as ReceivedSpan[];
  };
  return { url, spans, headers, find };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly value: string } & Readonly<Record<string, string | number>>;
}

interface Message {
  readonly resource_spans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scope_spans: readonly { readonly spans: readonly EncodedSpan[] }[];
  }[];
}

interface EncodedSpan {
  readonly trace_id: Buffer;
  readonly span_id: Buffer;
  readonly parent_span_id: Buffer;
  readonly trace_state: string;
  readonly name: string;
  readonly kind: string;
  readonly start_time_unix_nano: string;
  readonly end_time_unix_nano: string;
  readonly attributes: readonly Attribute[];
  readonly events: readonly { readonly name: string; readonly time_unix_nano: string }[];
  readonly links: readonly { readonly trace_id: Buffer; readonly span_id: Buffer }[];
  readonly status: { readonly code: string } | null;
}

function read({ resource_spans }: Message): ReceivedSpan[] {
  return resource_spans.flatMap(({ resource, scope_spans }) =>
    scope_spans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.trace_id.toString("hex"),
        id: span.span_id.toString("hex"),
        parentId: span.parent_span_id.toString("hex"),
        state: span.trace_state,
        name: span.name,
        kind: span.kind.replace("SPAN_KIND_", "").toLowerCase(),
        startMs: Number(span.start_time_unix_nano) / 1e6,
        endMs: Number(span.end_time_unix_nano) / 1e6,
        attributes: readAttributes(span.attributes),
        resource: readAttributes(resource.attributes),
        events: span.events.map(({ name, time_unix_nano: at }) => ({ name, atMs: Number(at) / 1e6 })),
        links: span.links.map((link) => ({ traceId: link.trace_id.toString("hex"), id: link.span_id.toString("hex") })),
        status: span.status?.code.replace("STATUS_CODE_", "").toLowerCase() ?? "unset",
      })),
    ),
  );
}

function readAttributes(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const text = value.string_value;
      return [key, typeof text === "string" && text !== "" ? text : Number(value.int_value || value.double_value)];
    }),
  );
}
