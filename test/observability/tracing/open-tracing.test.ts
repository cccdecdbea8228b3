import { expect, test } from "vitest";
import { createSilentLogger } from "../../../src/observability/logger.ts";
import { openTracing } from "../../../src/observability/tracing/open-tracing.ts";
import { readTracingSettings } from "../../../src/observability/tracing/settings.ts";
import { readSampler } from "../../../src/observability/tracing/tracing.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector:4318/base/" };
const log = createSilentLogger();

test.each([
  ["no endpoint", {}],
  ["an empty endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
  ["OTEL_SDK_DISABLED", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
  ["OTEL_TRACES_EXPORTER=none", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
])("with %s nothing is traced", async (_, env) => {
  expect(await openTracing(env, log)).toBeUndefined();
});

test("traces are sent below the address of all signals, and to the very address of their own", () => {
  const url = (env: object) => readTracingSettings({ ...ENDPOINT, ...env }).url.href;
  expect(url({})).toBe("https://collector:4318/base/v1/traces");
  expect(url({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://own:1/x" })).toBe("http://own:1/x");
});

test("headers are percent-decoded, and those of traces go before those of all signals", () => {
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b, other=1" };
  expect(readTracingSettings({ ...ENDPOINT, ...headers }).headers).toEqual({ "api-key": "a b", other: "1" });
  const own = { ...headers, OTEL_EXPORTER_OTLP_TRACES_HEADERS: "api-key=c" };
  expect(readTracingSettings({ ...ENDPOINT, ...own }).headers).toEqual({ "api-key": "c" });
});

test.each([
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
  ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
  ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"],
  ["OTEL_EXPORTER_OTLP_CERTIFICATE", "/missing.pem"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "secret"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a b=c"],
  ["OTEL_EXPORTER_OTLP_HEADERS", "a=b%0Ac"],
  ["OTEL_BSP_MAX_QUEUE_SIZE", "many"],
  ["OTEL_TRACES_SAMPLER", "sometimes"],
  ["OTEL_TRACES_SAMPLER_ARG", "2"],
])("%s cannot be %s", async (name, value) => {
  const env = { ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio", [name]: value };
  await expect(openTracing(env, log)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining(name),
  });
});

test("empty variables count as missing, and names are read in any case", async () => {
  const names = ["PROTOCOL", "HEADERS", "TIMEOUT", "COMPRESSION", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"];
  const exporter = names.flatMap((name) => [`OTEL_EXPORTER_OTLP_${name}`, `OTEL_EXPORTER_OTLP_TRACES_${name}`]);
  const others = [
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_SERVICE_NAME",
  ];
  const empty = Object.fromEntries([...exporter, ...others].map((name) => [name, ""]));
  expect(readTracingSettings({ ...ENDPOINT, ...empty })).toEqual(readTracingSettings(ENDPOINT));
  const env = { OTEL_EXPORTER_OTLP_PROTOCOL: "HTTP/Protobuf", OTEL_EXPORTER_OTLP_COMPRESSION: "GZIP" };
  expect(readTracingSettings({ ...ENDPOINT, ...env }).isCompressed).toBe(true);
});

test("attributes of the resource are percent-decoded, names too", () => {
  const env = { ...ENDPOINT, OTEL_RESOURCE_ATTRIBUTES: "a%2Cb=c%3Dd, team=ml" };
  expect(readTracingSettings(env).resource).toMatchObject({ "a,b": "c=d", team: "ml", "service.name": "kserving" });
});

test("the password of an address is in no message", () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://user:sec@ret@host" };
  expect(() => readTracingSettings(env)).toThrow(/ftp:\/\/host/);
});

const LOW = `${"0".repeat(31)}1`;
const HIGH = "f".repeat(32);
const parent = (isSampled: boolean) => ({ traceId: LOW, spanId: "1".repeat(16), isSampled });

test.each([
  [undefined, undefined, { begun: [true, true], followed: [true, false] }],
  ["Always_On", "", { begun: [true, true], followed: [true, true] }],
  ["always_off", undefined, { begun: [false, false], followed: [false, false] }],
  ["traceidratio", "0.5", { begun: [true, false], followed: [true, true] }],
  ["parentbased_always_off", undefined, { begun: [false, false], followed: [true, false] }],
  ["parentbased_traceidratio", "0.5", { begun: [true, false], followed: [true, false] }],
  ["traceidratio", "", { begun: [true, true], followed: [true, true] }],
])("the sampler %s with %s", (name, ratio, { begun, followed }) => {
  const sampler = readSampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio });
  expect([sampler.chooses(LOW, undefined), sampler.chooses(HIGH, undefined)]).toEqual(begun);
  expect([sampler.chooses(LOW, parent(true)), sampler.chooses(LOW, parent(false))]).toEqual(followed);
});
