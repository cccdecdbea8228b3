import { ServingError } from "../errors.ts";

/** What TraceSetting and `GET /v2/trace/setting` say: nothing is traced. */
export const TRACE_SETTINGS: Readonly<Record<string, readonly string[]>> = { trace_level: ["OFF"] };

/** What LogSettings and `GET /v2/logging` say. */
export interface LogSettings {
  readonly log_error: boolean;
  readonly log_warning: boolean;
  readonly log_info: boolean;
  /** 0 = none beside the above. */
  readonly log_verbose_level: number;
  readonly log_format: "default";
}

const LEVELS: readonly string[] = ["silent", "fatal", "error", "warn", "info", "debug", "trace"];

/** What is logged at a level. */
export function logSettings(level: string): LogSettings {
  const rank = LEVELS.indexOf(level);
  return {
    log_error: rank >= LEVELS.indexOf("error"),
    log_warning: rank >= LEVELS.indexOf("warn"),
    log_info: rank >= LEVELS.indexOf("info"),
    log_verbose_level: Math.max(0, rank - LEVELS.indexOf("info")),
    log_format: "default",
  };
}

/** Throws `failed_precondition` for a request that would change settings, rather than pretend; one without any only asks. */
export function refuseChanges(what: "trace" | "log", settings: object): void {
  const [name] = Object.keys(settings);
  if (name === undefined) return;
  const instead = what === "log" ? "start it with --log-level" : "it traces nothing yet";
  throw new ServingError(
    "failed_precondition",
    `The ${what} setting '${name}' cannot be changed while the server runs; ${instead}.`,
  );
}
