import { pino } from "pino";
import { reasonText, ServingError } from "../errors.ts";
import type { LogLevel } from "./log-level.ts";

/** Writes one event: a message, with fields beside it. */
type LogFunction = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** What every part of the server, every driver and every hook logs to. */
export interface Logger {
  /** Events below it are not written. */
  readonly level: LogLevel;
  readonly trace: LogFunction;
  readonly debug: LogFunction;
  readonly info: LogFunction;
  readonly warn: LogFunction;
  /** Give the cause as field `err`: its stack and its own cause are logged. */
  readonly error: LogFunction;
  /** The same log, with these fields on every event. */
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/** Where and how much to log. */
export interface LoggerOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** A file to append to; default standard output. */
  readonly path?: string;
}

/** A logger that writes one JSON object a line. Throws `failed_precondition` for a file that cannot be written. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const destination = options.path === undefined ? process.stdout : openLog(options.path);
  const base = {
    level: options.level ?? "info",
    base: {},
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return fromPino(pino({ ...base, timestamp: pino.stdTimeFunctions.isoTime }, destination));
}

/** Writes before it returns, so that the last words of a process that kills itself are in the file. */
function openLog(path: string) {
  try {
    return pino.destination({ dest: path, append: true, sync: true });
  } catch (reason) {
    throw new ServingError("failed_precondition", `The log file ${path} cannot be written: ${reasonText(reason)}`, {
      cause: reason,
    });
  }
}

/** A logger that writes nothing: for embedded servers and tests. */
export function createSilentLogger(): Logger {
  return fromPino(pino({ level: "silent" }));
}

type PinoLogger = ReturnType<typeof pino>;

function fromPino(log: PinoLogger): Logger {
  const at =
    (level: Exclude<LogLevel, "silent">): LogFunction =>
    (message, fields = {}) =>
      log[level](fields, message);
  return {
    level: log.level as LogLevel,
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => fromPino(log.child(fields)),
  };
}
