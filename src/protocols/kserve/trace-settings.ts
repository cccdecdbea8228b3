import { currentScope } from "../../access/call-scope.ts";
import { ServingError } from "../../errors.ts";
import { didYouMean } from "../../text/nearest.ts";

/** Content of TraceSetting and `GET /v2/trace/setting`: nothing is traced. */
export const TRACE_SETTINGS: Readonly<Record<string, readonly string[]>> = { trace_level: ["OFF"] };

const NAMES: readonly string[] = ["trace_level", "trace_rate", "trace_count", "log_frequency"];

/**
 * Takes changes that leave nothing traced (`trace_level` OFF, or no values, which stand for the default), and throws for all others:
 * this server has no traces, and does not pretend.
 */
export function changeTracing(changes: ReadonlyMap<string, readonly string[]>): void {
  if (changes.size > 0) currentScope()?.assertControlsAll();
  for (const [name, values] of changes) {
    if (name === "trace_file") throw noFile();
    if (!NAMES.includes(name)) throw noSetting(name);
    const isAsItIs = values.length === 0 || String(values) === String(TRACE_SETTINGS[name]);
    if (!isAsItIs) throw noTracing(name);
  }
}

function noFile(): ServingError {
  return new ServingError("unimplemented", "trace file location can not be updated through network protocol");
}

function noSetting(name: string): ServingError {
  const expected = `expected ${NAMES.join(", ")}`;
  return new ServingError(
    "invalid_argument",
    `There is no trace setting '${name}'; ${expected}.${didYouMean(name, NAMES)}`,
  );
}

function noTracing(name: string): ServingError {
  return new ServingError(
    "failed_precondition",
    `the server does not support tracing, so '${name}' cannot be changed; how long requests wait and run is in a model's statistics`,
  );
}
