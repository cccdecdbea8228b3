import type { Logger } from "../../observability/logger.ts";
import type { ServedVersion } from "../../server/served-version.ts";
import { portOf } from "../addresses/address-text.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";
import { logTime } from "./tensorflow-reporter.ts";

/** Writes a line to standard output as OpenVINO Model Server's log has it. */
export function openvinoLog(level: "debug" | "info" | "error", text: string): void {
  process.stdout.write(`[${logTime(new Date())}][${process.pid}][serving][${level}][kserving] ${text}\n`);
}

/** Prints the lines of `ovms` that scripts wait for. */
export function createOvmsReporter({ host }: { readonly host: string }): Partial<StatusReporter> {
  const told = new Map<string, string>();
  const tellVersion = ({ name, version, state, error }: ServedVersion) => {
    if (error !== undefined) return;
    const key = `${name}/${version}`;
    if (told.get(key) === state) return;
    told.set(key, state);
    const status = `( "state": "${state}", "error_code": "OK" )`;
    openvinoLog("info", `STATUS CHANGE: Version ${version} of model ${name} status change. New status: ${status}`);
  };
  return {
    changed: tellVersion,
    ready: ({ grpcAddress, httpUrl }) => {
      const [grpcPort, restPort] = [portOf(grpcAddress), httpUrl === undefined ? undefined : portOf(httpUrl)];
      if (grpcPort !== restPort) openvinoLog("info", `Started gRPC server on port ${grpcPort}`);
      if (restPort !== undefined) openvinoLog("info", `Started REST server at ${host}:${restPort}`);
      openvinoLog("info", "ServableManagerModule started");
    },
  };
}

/** Prints the lines of `ie_serving`; at level debug also those of each request, from which people count and compare. */
export function createIeServingReporter(): Partial<StatusReporter> {
  return {
    watchLog: (log) => withRequestLines(log, tellRequest),
    ready: ({ grpcAddress, httpUrl, models = [] }) => {
      const names = [...new Set(models.map(({ name }) => `'${name}'`))].join(", ");
      const listens = (port: string) => `listens on port ${port} and will be serving models: [${names}]`;
      openvinoLog("info", `Server ${listens(portOf(grpcAddress))}`);
      if (httpUrl !== undefined) openvinoLog("info", `REST server ${listens(portOf(httpUrl))}`);
    },
  };
}

/** The parts of an inference that were reached, with their times. */
function tellRequest(request: RequestFields): void {
  const { model, version, deserializationMs, inferenceMs, serializationMs } = request;
  if (inferenceMs === undefined) return;
  const parts = [
    ["input deserialization", deserializationMs],
    ["inference execution", inferenceMs],
    ["inference results serialization", serializationMs],
  ] as const;
  for (const [part, ms] of parts)
    if (ms !== undefined) openvinoLog("debug", `PREDICT; ${part} completed; ${model}; ${version}; ${ms}ms`);
}

/** Fields of the line that the log has at level debug for each request. */
interface RequestFields {
  readonly model?: string;
  readonly version?: string;
  readonly deserializationMs?: number;
  readonly inferenceMs?: number;
  readonly serializationMs?: number;
}

/** The same log; a function also gets the fields of each request's line at level debug. */
function withRequestLines(log: Logger, tell: (fields: RequestFields) => void): Logger {
  const told: Partial<Logger> = {
    debug: (message, fields = {}) => {
      log.debug(message, fields);
      if (message === "request" && log.filter?.writes("debug") === true) tell(fields);
    },
    child: (fields) => withRequestLines(log.child(fields), tell),
  };
  return Object.assign(Object.create(log), told);
}
