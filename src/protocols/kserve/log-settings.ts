import { currentScope } from "../../access/call-scope.ts";
import { failedPrecondition, invalidArgument, ServingError } from "../../errors.ts";
import type { LogLevel } from "../../observability/log-filter.ts";
import { LogFilter } from "../../observability/log-filter.ts";
import type { Logger } from "../../observability/logger.ts";
import { didYouMean } from "../../platform/text/nearest.ts";

/** Content of LogSettings and `GET /v2/logging`. */
export interface LogSettings {
  readonly log_error: boolean;
  readonly log_warning: boolean;
  readonly log_info: boolean;
  /** 0 = no levels in addition to those above, 1 = debug, 2 = trace as well. */
  readonly log_verbose_level: number;
  readonly log_format: "default";
}

/** The settings in force. */
export function logSettings(log: Pick<Logger, "filter" | "level">): LogSettings {
  const filter = log.filter ?? new LogFilter(log.level);
  const writes = (level: LogLevel) => filter.writes(level);
  return {
    log_error: writes("error"),
    log_warning: writes("warn"),
    log_info: writes("info"),
    log_verbose_level: VERBOSE_LEVELS.findLastIndex(writes) + 1,
    log_format: "default",
  };
}

/** Levels that `log_verbose_level` adds, from 1 on. */
const VERBOSE_LEVELS: readonly LogLevel[] = ["debug", "trace"];

/** A level, and whether it is to be written. */
type Switch = readonly [level: LogLevel, isWritten: boolean];

type ReadValue = (value: unknown) => readonly Switch[];

/** Reader of each setting's value; throws for a value that it cannot have. */
const SETTINGS: Readonly<Record<string, ReadValue>> = {
  log_error: (value) => [["error", toBoolean("log_error", value)]],
  log_warning: (value) => [["warn", toBoolean("log_warning", value)]],
  log_info: (value) => [["info", toBoolean("log_info", value)]],
  log_verbose_level: (value) => {
    if (!Number.isSafeInteger(value) || Number(value) < 0)
      throw invalidArgument("expect int32 for 'log_verbose_level'");
    return VERBOSE_LEVELS.map((level, index) => [level, index < Number(value)]);
  },
  log_format: (value) => {
    if (value === "default") return [];
    throw invalidArgument(
      `invalid argument for log_format, got: ${String(value)}; this log is JSON with times of ISO 8601`,
    );
  },
  log_file: () => {
    const message = "log file location can not be updated through network protocol; start the server with --log-path";
    throw new ServingError("unimplemented", message);
  },
};

/** Changes the levels to log, all or none; throws with Triton's texts for settings that cannot be changed. */
export function changeLogging(log: Pick<Logger, "filter" | "info">, changes: ReadonlyMap<string, unknown>): void {
  if (changes.size === 0) return;
  currentScope()?.assertControlsAll();
  const switches = [...changes].flatMap(([name, value]) => toSwitches(name, value));
  const { filter } = log;
  if (filter === undefined) {
    throw failedPrecondition("This server has no log of its own whose settings could be changed.");
  }
  for (const [level, isWritten] of switches) filter.set(level, isWritten);
  log.info("a client changed what is logged", Object.fromEntries(changes));
}

function toBoolean(name: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw invalidArgument(`expect boolean for '${name}'`);
}

function toSwitches(name: string, value: unknown): readonly Switch[] {
  if (Object.hasOwn(SETTINGS, name)) return (SETTINGS[name] as ReadValue)(value);
  const names = Object.keys(SETTINGS);
  throw invalidArgument(`There is no log setting '${name}'; expected ${names.join(", ")}.${didYouMean(name, names)}`);
}
