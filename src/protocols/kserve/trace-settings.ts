import { currentScope } from "../../access/call-scope.ts";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import type { TraceSampling } from "../../observability/request-tracer.ts";
import { didYouMean } from "../../platform/text/nearest.ts";

/** Content of TraceSetting and `GET /v2/trace/setting`. */
export type TraceSettings = Readonly<Record<string, readonly string[] | string>>;

/** The settings in force; without sampling nothing is traced. */
export function traceSettings(sampling: TraceSampling | undefined): TraceSettings {
  if (sampling === undefined) return { trace_level: ["OFF"] };
  const { isOn, ratio, left } = sampling;
  return {
    trace_level: [isOn ? "TIMESTAMPS" : "OFF"],
    trace_rate: String(toRate(ratio)),
    trace_count: left === Number.POSITIVE_INFINITY ? "-1" : String(left),
    log_frequency: "0",
    trace_mode: "opentelemetry",
  };
}

/** One of so many requests; 0 = none. */
function toRate(ratio: number): number {
  return ratio === 0 ? 0 : Math.max(1, Math.round(1 / ratio));
}

type Change = (sampling: TraceSampling) => void;
type ReadSetting = (values: readonly string[]) => Change;

/** Reader of each setting; no values stand for what was there at the start. */
const SETTINGS: Readonly<Record<string, ReadSetting>> = {
  trace_level: (values) => {
    const alien = values.find((value) => value !== "OFF" && value !== "TIMESTAMPS");
    if (alien === "TENSORS")
      throw failedPrecondition("trace_level TENSORS is not possible: traces have no contents of requests");
    if (alien !== undefined) throw invalidArgument(`trace_level is '${alien}'; expected OFF or TIMESTAMPS`);
    return (sampling) => {
      sampling.isOn = !values.includes("OFF");
    };
  },
  trace_rate: (values) => {
    const rate = readInteger("trace_rate", values, 1);
    return (sampling) => {
      sampling.ratio = rate === undefined ? sampling.firstRatio : 1 / rate;
    };
  },
  trace_count: (values) => {
    const count = readInteger("trace_count", values, -1) ?? -1;
    return (sampling) => {
      sampling.left = count === -1 ? Number.POSITIVE_INFINITY : count;
    };
  },
  log_frequency: (values) => {
    if ((readInteger("log_frequency", values, 0) ?? 0) === 0) return () => {};
    throw failedPrecondition("log_frequency is of trace files; traces are sent to a collector of OpenTelemetry");
  },
  trace_file: () => {
    throw new ServingError("unimplemented", "trace file location can not be updated through network protocol");
  },
};
const NAMES: readonly string[] = Object.keys(SETTINGS).filter((name) => name !== "trace_file");

/**
 * Changes which requests are traced from now on, all or nothing; throws for what cannot be changed. Of one model alone
 * nothing can be: a trace begins before its model is known.
 */
export function changeTracing(
  changes: ReadonlyMap<string, readonly string[]>,
  sampling: TraceSampling | undefined,
  model: string,
): void {
  if (changes.size > 0) currentScope()?.assertControlsAll();
  const read = [...changes].map(([name, values]) => ({ name, values, change: readSetting(name, values) }));
  for (const { name, values, change } of read) {
    if (isAsItIs(name, values, sampling)) continue;
    if (sampling === undefined) throw noTracing(name);
    if (model !== "")
      throw failedPrecondition(
        `'${name}' of one model cannot be changed: whether a request is traced is decided before its model is known; change /v2/trace/setting`,
      );
    change(sampling);
  }
}

function readSetting(name: string, values: readonly string[]): Change {
  const read = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined;
  if (read === undefined) {
    const expected = `expected ${NAMES.join(", ")}`;
    throw invalidArgument(`There is no trace setting '${name}'; ${expected}.${didYouMean(name, NAMES)}`);
  }
  return read(values);
}

function isAsItIs(name: string, values: readonly string[], sampling: TraceSampling | undefined): boolean {
  const isUntraced = sampling === undefined && values.length === 0;
  return isUntraced || (values.length > 0 && String(values) === String(traceSettings(sampling)[name]));
}

/** Undefined for no value. */
function readInteger(name: string, values: readonly string[], min: number): number | undefined {
  const [text] = values;
  if (text === undefined) return undefined;
  if (/^-?\d{1,9}$/.test(text) && Number(text) >= min) return Number(text);
  throw invalidArgument(`${name} is '${text}'; expected an integer of ${min} or more`);
}

function noTracing(name: string): ServingError {
  return failedPrecondition(
    `the server does not support tracing without OTEL_EXPORTER_OTLP_ENDPOINT, so '${name}' cannot be changed; how long requests wait and run is in a model's statistics`,
  );
}
