import { readFileSync } from "node:fs";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { failedPrecondition, reasonText } from "../../errors.ts";
import type { Attributes } from "./span-message.ts";

/** Variables of the environment, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of tracing, as OpenTelemetry's variables say them. */
export interface TracingSettings {
  /** Address that spans are sent to. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Time that a collector has for a message, in milliseconds. */
  readonly timeoutMs: number;
  readonly tls: CollectorTls;
  /** Time for which spans are gathered, in milliseconds. */
  readonly delayMs: number;
  /** Spans that wait to be sent at most, and those that one message has at most. */
  readonly maxQueue: number;
  readonly maxBatch: number;
  readonly isCompressed: boolean;
  readonly resource: Attributes;
}

/** Files for an encrypted connection; absent = the system's authorities, and no certificate. */
interface CollectorTls {
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/** A variable of the environment; as OpenTelemetry has it, an empty one is a missing one. */
interface Variable {
  readonly name: string;
  readonly text: string | undefined;
}

/** The path of traces below OTEL_EXPORTER_OTLP_ENDPOINT. */
const TRACES_PATH = "v1/traces";
/** Stands for a time without limit: the longest of a timer, in milliseconds. */
const UNLIMITED_MS = 2 ** 31 - 1;

/** Reads OpenTelemetry's variables; throws `failed_precondition`, naming the variable, for a value that cannot be. */
export function readTracingSettings(env: Environment): TracingSettings {
  const of = (name: string) => ({ name, text: env[name] || undefined });
  const exporter = (name: string) => {
    const own = of(`OTEL_EXPORTER_OTLP_TRACES_${name}`);
    return own.text === undefined ? of(`OTEL_EXPORTER_OTLP_${name}`) : own;
  };
  checkProtocol(exporter("PROTOCOL"));
  const url = readUrl(exporter("ENDPOINT"));
  const maxQueue = readCount(of("OTEL_BSP_MAX_QUEUE_SIZE"), 2048);
  return {
    url,
    headers: readHeaders(exporter("HEADERS")),
    timeoutMs: readCount(exporter("TIMEOUT"), 10_000, 0) || UNLIMITED_MS,
    tls: url.protocol === "https:" ? readTls(exporter) : {},
    delayMs: readCount(of("OTEL_BSP_SCHEDULE_DELAY"), 5000, 0),
    maxQueue,
    // A message that could never be filled would be sent by the delay alone.
    maxBatch: Math.min(readCount(of("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 512), maxQueue),
    isCompressed: exporter("COMPRESSION").text?.toLowerCase() === "gzip",
    resource: readResource(of("OTEL_RESOURCE_ATTRIBUTES"), env.OTEL_SERVICE_NAME),
  };
}

/** Only one protocol is spoken; what else the environment says is for other programs of the same host. */
function checkProtocol({ name, text }: Variable): void {
  if (text === undefined || text.toLowerCase() === "http/protobuf") return;
  throw failedPrecondition(`${name} is "${text}"; expected http/protobuf, which collectors take at port 4318.`);
}

function readUrl({ name, text = "" }: Variable): URL {
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

function readTls(exporter: (name: string) => Variable): CollectorTls {
  const [ca, cert, key] = ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"].map((name) => readPem(exporter(name)));
  return { ca, cert, key };
}

function readPem({ name, text }: Variable): Buffer | undefined {
  try {
    return text === undefined ? undefined : readFileSync(text);
  } catch (cause) {
    throw failedPrecondition(`The file of ${name} cannot be read: ${reasonText(cause)}.`, cause);
  }
}

/** Throws for what cannot be sent, without its text, which may be a secret. */
function readHeaders(variable: Variable): Record<string, string> {
  const headers = Object.fromEntries(readPairs(variable).map(([name, text]) => [name, decode(text)]));
  for (const [name, text] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, text);
    } catch {
      throw failedPrecondition(`${variable.name} has an entry that HTTP cannot send; expected key=value,key=value.`);
    }
  }
  return headers;
}

function readResource(variable: Variable, name: string | undefined): Attributes {
  const given = Object.fromEntries(readPairs(variable).map((pair) => pair.map(decode)));
  const service = name || given["service.name"] || "kserving";
  return { ...given, "service.name": service, "process.pid": process.pid, "telemetry.sdk.language": "nodejs" };
}

/** `key=value,key=value`, each still percent-encoded. */
function readPairs({ name, text = "" }: Variable): [string, string][] {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  return pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw failedPrecondition(`${name} has an entry without "="; expected key=value,key=value.`);
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readCount({ name, text }: Variable, missing: number, min = 1): number {
  if (text === undefined) return missing;
  if (/^\d{1,9}$/.test(text) && Number(text) >= min) return Number(text);
  throw failedPrecondition(`${name} is "${text}"; expected a whole number from ${min} on.`);
}
