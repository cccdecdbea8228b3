import { failedPrecondition } from "../../errors.ts";
import type { RequestOutcome } from "../access-log.ts";
import type { Interval } from "../interval.ts";
import type { Logger } from "../logger.ts";
import { loggedId } from "../request-id.ts";
import type { RequestRecord } from "../request-record.ts";
import type { RequestTracer, TraceSampling } from "../request-tracer.ts";
import { toEpochMs } from "../steady-clock.ts";
import { newSpanId, newTraceId, type ParentContext, parentOf, type RequestTrace } from "../trace-context.ts";
import { type Environment, readTracingSettings } from "./settings.ts";
import { SpanExporter } from "./span-exporter.ts";
import { type Attributes, SPAN_KIND, type Span } from "./span-message.ts";

/** Stands for a number without limit. */
const UNLIMITED = 2 ** 31 - 1;
/** Digits of a trace id that are random by W3C Trace Context, as many of them as a number can have. */
const RANDOM_DIGITS = [18, 31] as const;
/** Names of OTEL_TRACES_SAMPLER that are known, without `parentbased_`. */
const NAMES = ["always_on", "always_off", "traceidratio"];

/** Traces of requests, sent to a collector of OpenTelemetry. */
export interface Tracing extends RequestTracer {
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

/**
 * Begins to record traces as OpenTelemetry's variables say. `shared`: the memory of another thread's sampling. Throws
 * `failed_precondition` for values that cannot be.
 */
export function createTracing(env: Environment, log: Logger, shared?: SharedArrayBuffer): Tracing {
  const settings = readTracingSettings(env);
  const sampler = readSampler(env, shared);
  const exporter = new SpanExporter(settings, log);
  if (shared === undefined) log.info("traces are sent", { collector: settings.url.host });
  return {
    sampling: sampler,
    begin: (metadata) => {
      const parent = parentOf(metadata);
      const traceId = parent?.traceId ?? newTraceId();
      if (!sampler.chooses(traceId, parent)) return undefined;
      const span = { traceId, spanId: newSpanId(), state: parent?.state, isRandom: parent?.isRandom ?? true };
      return { span, parentId: parent?.spanId, take: () => sampler.take() };
    },
    over: (record, trace, outcome) => exporter.add(requestSpans(record, trace, outcome)),
    close: () => exporter.close(),
  };
}

/** gRPC's statuses that are the server's fault. */
const SERVER_FAULTS: readonly number[] = [2, 4, 12, 13, 14, 15];

/** The spans of a request that is over: its own first, then those of its parts. */
function requestSpans(record: RequestRecord, trace: RequestTrace, outcome: RequestOutcome): Span[] {
  const offset = toEpochMs(0);
  const { span: context, parentId } = trace;
  const { start, end, decode, encode, parts } = record.marks();
  const whole: Span = {
    context,
    parentId,
    name: nameOf(record, outcome),
    kind: SPAN_KIND.server,
    startMs: offset + start,
    endMs: offset + end,
    attributes: { ...requestAttributes(record), ...protocolAttributes(record, outcome) },
    events: parts && [
      { name: "first part", atMs: offset + parts.start },
      { name: "last part", atMs: offset + parts.end },
    ],
    isError: isFault(outcome),
  };
  const own = [decode && { name: "decode", ...decode }, encode && { name: "encode", ...encode }];
  const edges = own.flatMap((part) =>
    part ? [{ name: part.name, startMs: offset + part.start, endMs: offset + part.end }] : [],
  );
  const inner = { context, parentId: context.spanId, kind: SPAN_KIND.internal, attributes: {}, isError: false };
  return [
    whole,
    ...edges.map((edge) => ({ ...inner, ...edge, context: { ...context, spanId: newSpanId() } })),
    ...(record.timeline?.intervals ?? []).map((part) => partSpan(part, context, offset)),
  ];
}

function partSpan(part: Interval, root: Span["context"], offset: number): Span {
  const { kind, stage, start, end, name, code, id = newSpanId(), parent = root.spanId, links } = part;
  const isRemote = kind === "remote";
  return {
    context: { ...root, spanId: id },
    parentId: parent,
    name: isRemote ? `${PREDICT.service}/${PREDICT.method}` : stage > 0 ? `${kind} ${stage}` : kind,
    kind: isRemote ? SPAN_KIND.client : SPAN_KIND.internal,
    startMs: offset + start,
    endMs: offset + end,
    attributes: {
      "kserving.stage": stage > 0 ? stage : undefined,
      "error.type": code,
      ...(isRemote ? remoteAttributes(name) : { "kserving.model.name": name }),
    },
    links,
    isError: code !== undefined,
  };
}

/** The method that other servers are called by. */
const PREDICT = { service: "tensorflow.serving.PredictionService", method: "Predict" };

function remoteAttributes(address = ""): Attributes {
  const [, host = address, port] = /^(.*?):(\d+)$/.exec(address.replace(/^\w+:\/\//, "")) ?? [];
  return {
    "rpc.system": "grpc",
    "rpc.service": PREDICT.service,
    "rpc.method": PREDICT.method,
    "server.address": host,
    "server.port": port === undefined ? undefined : Number(port),
  };
}

function requestAttributes(record: RequestRecord): Attributes {
  const { model, version, isServedHere, parts } = record;
  return {
    "kserving.request.id": loggedId(record.id),
    "kserving.protocol": record.route?.protocol,
    "kserving.model.name": isServedHere ? model : undefined,
    "kserving.model.version": version === undefined ? undefined : String(version),
    "kserving.parts": parts,
  };
}

function protocolAttributes(
  record: RequestRecord,
  { protocol, method, path, status, endStatus = status, code }: RequestOutcome,
): Attributes {
  const { requestBytes, responseBytes } = record;
  const failed = code ?? String(endStatus);
  const errorType = isFault({ protocol, status, endStatus }) ? failed : undefined;
  if (protocol === "grpc") {
    const [, service, rpc] = path.split("/");
    const called = { "rpc.system": "grpc", "rpc.service": service, "rpc.method": rpc };
    const sizes = { "rpc.request.size": requestBytes, "rpc.response.size": responseBytes };
    return { ...called, "rpc.grpc.status_code": status, ...sizes, "error.type": errorType };
  }
  return {
    "http.request.method": method,
    "http.route": routeOf(record),
    "url.path": path.split("?", 1)[0]?.slice(0, MAX_PATH),
    "http.response.status_code": status,
    "http.request.body.size": requestBytes,
    "http.response.body.size": responseBytes,
    "error.type": errorType,
  };
}

/** Maximum length of a recorded path, in characters. */
const MAX_PATH = 200;

function nameOf(record: RequestRecord, { protocol, method = "HTTP", path }: RequestOutcome): string {
  if (protocol === "grpc") return path.slice(1, MAX_PATH);
  const route = routeOf(record);
  return route === undefined ? method : `${method} ${route}`;
}

/** A route's name is its method and its path. */
function routeOf({ route }: RequestRecord): string | undefined {
  return route?.method.slice(route.method.indexOf(" ") + 1);
}

function isFault({ protocol, status, endStatus = status }: Pick<RequestOutcome, "protocol" | "status" | "endStatus">) {
  return protocol === "grpc" ? SERVER_FAULTS.includes(status) : endStatus >= 500;
}

/** The cells of a sampler's memory, and their bytes: the part takes two. */
const [ON, LEFT, BYTES] = [2, 3, 16];

/**
 * Decides which traces are recorded: part of those that begin here, and of those that clients began what their clients
 * record, or by the same part. What may be changed is in memory that the threads share which begin traces.
 */
class Sampler implements TraceSampling {
  readonly firstRatio: number;
  readonly shared: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #ratio: Float64Array<SharedArrayBuffer>;
  readonly #followsParent: boolean;

  /** `shared`: the memory of another thread's sampler of the same settings. */
  constructor(ratio: number, followsParent: boolean, shared?: SharedArrayBuffer) {
    this.firstRatio = ratio;
    this.#followsParent = followsParent;
    this.shared = shared ?? new SharedArrayBuffer(BYTES);
    this.#cells = new Int32Array(this.shared);
    this.#ratio = new Float64Array(this.shared, 0, 1);
    if (shared !== undefined) return;
    this.isOn = true;
    this.ratio = ratio;
    this.left = Number.POSITIVE_INFINITY;
  }

  get isOn(): boolean {
    return Atomics.load(this.#cells, ON) === 1;
  }

  set isOn(isOn: boolean) {
    Atomics.store(this.#cells, ON, isOn ? 1 : 0);
  }

  get ratio(): number {
    return this.#ratio[0] as number;
  }

  set ratio(ratio: number) {
    this.#ratio[0] = ratio;
  }

  get left(): number {
    const left = Atomics.load(this.#cells, LEFT);
    return left === UNLIMITED ? Number.POSITIVE_INFINITY : Math.max(0, left);
  }

  set left(count: number) {
    Atomics.store(this.#cells, LEFT, Math.min(count, UNLIMITED));
  }

  /** Checks if a trace may be recorded, by its id: servers of the same part choose the same traces. */
  chooses(traceId: string, parent: ParentContext | undefined): boolean {
    if (!this.isOn || this.left <= 0) return false;
    if (parent !== undefined && this.#followsParent) return parent.isSampled;
    return Number.parseInt(traceId.slice(...RANDOM_DIGITS), 16) < this.ratio * 2 ** 52;
  }

  /** Counts a request that is recorded; false if there are enough. */
  take(): boolean {
    return Atomics.load(this.#cells, LEFT) === UNLIMITED || Atomics.sub(this.#cells, LEFT, 1) > 0;
  }
}

/**
 * The sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; throws `failed_precondition` for one that is unknown.
 */
export function readSampler(
  { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Environment,
  shared?: SharedArrayBuffer,
): Sampler {
  const { parent, root = "" } =
    /^(?<parent>parentbased_)?(?<root>.*)$/.exec((name || "parentbased_always_on").toLowerCase())?.groups ?? {};
  if (!NAMES.includes(root)) {
    const known = NAMES.flatMap((one) => [one, `parentbased_${one}`]).join(", ");
    throw failedPrecondition(`OTEL_TRACES_SAMPLER is "${name}"; expected ${known}.`);
  }
  const part = root === "traceidratio" ? readRatio(ratio || undefined) : root === "always_on" ? 1 : 0;
  return new Sampler(part, parent !== undefined, shared);
}

function readRatio(text = "1"): number {
  const ratio = Number(text);
  if (text.trim() !== "" && ratio >= 0 && ratio <= 1) return ratio;
  throw failedPrecondition(`OTEL_TRACES_SAMPLER_ARG is "${text}"; expected a number from 0 to 1.`);
}
