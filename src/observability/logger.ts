import { pino } from "pino";
import { maskSecrets } from "../platform/text/mask-secrets.ts";
import { printable } from "../platform/text/terminal.ts";
import { boundFields, boundMessage } from "./bound-event.ts";
import { openLogFile } from "./log-file.ts";
import type { LogLevel } from "./log-filter.ts";
import { LogFilter } from "./log-filter.ts";
import type { LogOutput } from "./log-output.ts";
import { surviveOutputErrors } from "./log-output.ts";

/** Writes one event: a message and its fields. */
type LogFunction = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** The log of every part of the server, every driver and every hook. */
export interface Logger {
  /** Events below it are not written. */
  readonly level: LogLevel;
  /** The levels that are written, to be changed while the server runs; absent if that cannot be. */
  readonly filter?: LogFilter | undefined;
  readonly trace: LogFunction;
  readonly debug: LogFunction;
  readonly info: LogFunction;
  readonly warn: LogFunction;
  /** Give the cause as field `err`: its stack and its own cause are logged. */
  readonly error: LogFunction;
  /** The same log, with these fields on every event. */
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/** Level, form and place of a log. */
export interface LoggerOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** A file to append to; default standard output. */
  readonly path?: string;
}

/**
 * A logger that writes one JSON object a line. Throws `failed_precondition` for a file that cannot be opened. The loss
 * of its output is reported once, on standard error, and fails no request.
 */
export function createLogger({ level = "info", path }: LoggerOptions = {}): Logger {
  surviveOutputErrors();
  return createOutputLogger([path === undefined ? process.stdout : openLogFile(path)], new LogFilter(level));
}

/**
 * A logger that writes one JSON object a line to each output, as far as the filter lets it, without secrets, which it
 * recognizes by their names.
 */
export function createOutputLogger(outputs: readonly LogOutput[], filter: LogFilter): Logger {
  const destination = {
    write: (line: string) => {
      // JSON escapes some control characters only; within its texts all may be written so.
      const safe = printable(maskSecrets(line));
      for (const output of outputs) output.write(safe);
    },
  };
  const base = {
    // The filter decides.
    level: "trace",
    base: {},
    formatters: { level: (label: string) => ({ level: label }) },
    // pino's own choice appends the causes' messages to the error's, which often says the same already.
    serializers: { err: pino.stdSerializers.errWithCause },
  };
  return fromPino(pino({ ...base, timestamp: pino.stdTimeFunctions.isoTime }, destination), filter);
}

/** A logger that writes nothing: for embedded servers and tests. */
export function createSilentLogger(): Logger {
  return SILENT;
}

const ignore: LogFunction = () => {};
const SILENT: Logger = {
  level: "silent",
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => SILENT,
};

/** Members that each event brings itself. */
const OWN: readonly string[] = ["level", "time", "msg"];

/**
 * Fields of other names than the event's own members have: of two members of one name, readers of JSON take either,
 * such as a hook's `time` for the event's.
 */
function besides(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!OWN.some((name) => Object.hasOwn(fields, name))) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [OWN.includes(name) ? `fields.${name}` : name, value]),
  );
}

type PinoLogger = ReturnType<typeof pino>;

function fromPino(log: PinoLogger, filter: LogFilter): Logger {
  const at =
    (level: Exclude<LogLevel, "silent">): LogFunction =>
    (message, fields = {}) => {
      if (filter.writes(level)) log[level](besides(boundFields(fields)), boundMessage(message));
    };
  return {
    get level() {
      return filter.level;
    },
    filter,
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => fromPino(log.child(besides(boundFields(fields))), filter),
  };
}
