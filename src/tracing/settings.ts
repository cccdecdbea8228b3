import { failedPrecondition } from "../errors.ts";
import type { Attributes } from "./span.ts";

/** Variables of the environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of tracing, as OpenTelemetry's variables say them. */
export interface TracingSettings {
  /** Address that spans are sent to. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Time that a collector has for a message, in milliseconds. */
  readonly timeoutMs: number;
  /** Path of a file with certificates of authorities; absent = the system's. */
  readonly caFile: string | undefined;
  /** Paths of a client certificate and its key. */
  readonly clientCert: string | undefined;
  readonly clientKey: string | undefined;
  /** Time for which spans are gathered, in milliseconds. */
  readonly delayMs: number;
  /** Spans that wait to be sent at most, and those that one message has at most. */
  readonly maxQueue: number;
  readonly maxBatch: number;
  readonly isCompressed: boolean;
  readonly resource: Attributes;
}

/** The path of traces below OTEL_EXPORTER_OTLP_ENDPOINT. */
const TRACES_PATH = "v1/traces";

/** Reads OpenTelemetry's variables; throws `failed_precondition`, naming the variable, for a value that cannot be. */
export function readTracingSettings(env: Environment): TracingSettings {
  const exporter = (name: string) => env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`];
  checkProtocol(exporter("PROTOCOL"));
  return {
    url: readUrl(env),
    headers: readPairs("OTEL_EXPORTER_OTLP_HEADERS", exporter("HEADERS")),
    timeoutMs: readCount("OTEL_EXPORTER_OTLP_TIMEOUT", exporter("TIMEOUT"), 10_000),
    caFile: exporter("CERTIFICATE"),
    clientCert: exporter("CLIENT_CERTIFICATE"),
    clientKey: exporter("CLIENT_KEY"),
    delayMs: readCount("OTEL_BSP_SCHEDULE_DELAY", env.OTEL_BSP_SCHEDULE_DELAY, 5000),
    maxQueue: readCount("OTEL_BSP_MAX_QUEUE_SIZE", env.OTEL_BSP_MAX_QUEUE_SIZE, 2048),
    maxBatch: readCount("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, 512),
    isCompressed: exporter("COMPRESSION") === "gzip",
    resource: readResource(env),
  };
}

/** Only one protocol is spoken; what else the environment says is for other programs of the same host. */
function checkProtocol(protocol: string | undefined): void {
  if (protocol === undefined || protocol === "http/protobuf") return;
  throw failedPrecondition(
    `OTEL_EXPORTER_OTLP_PROTOCOL is "${protocol}"; expected http/protobuf, which collectors take at port 4318.`,
  );
}

function readUrl(env: Environment): URL {
  const [name, text = ""] = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
    ? ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT]
    : ["OTEL_EXPORTER_OTLP_ENDPOINT", env.OTEL_EXPORTER_OTLP_ENDPOINT];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw failedPrecondition(`${name} is "${withoutUser(text)}"; expected a URL such as http://collector:4318.`);
  // The variable for all signals has the address of their common root.
  if (name === "OTEL_EXPORTER_OTLP_ENDPOINT") url.pathname = `${url.pathname.replace(/\/$/, "")}/${TRACES_PATH}`;
  return url;
}

/** A URL may have a password. */
function withoutUser(text: string): string {
  return text.replace(/\/\/[^/?#]*@/, "//");
}

function readResource(env: Environment): Attributes {
  const given = readPairs("OTEL_RESOURCE_ATTRIBUTES", env.OTEL_RESOURCE_ATTRIBUTES);
  const name = env.OTEL_SERVICE_NAME || given["service.name"] || "kserving";
  return { ...given, "service.name": name, "process.pid": process.pid, "telemetry.sdk.language": "nodejs" };
}

/** `key=value,key=value`, percent-encoded. */
function readPairs(name: string, text = ""): Record<string, string> {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw failedPrecondition(`${name} has an entry without "="; expected key=value,key=value.`);
      return [pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())];
    }),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readCount(name: string, text: string | undefined, missing: number): number {
  if (text === undefined || text === "") return missing;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw failedPrecondition(`${name} is "${text}"; expected a whole number from 1 on.`);
}
