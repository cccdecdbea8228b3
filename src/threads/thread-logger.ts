import { reasonText } from "../errors.ts";
import { LogFilter, type Logged } from "../observability/log-filter.ts";
import { LOG_LEVELS, type LogLevel } from "../observability/log-level.ts";
import type { Logger } from "../observability/logger.ts";
import { isPlainObject } from "../tensor/is-plain-object.ts";

/** One log event of a thread, as sent to the main thread. */
export interface LogEvent {
  readonly level: Exclude<LogLevel, "silent">;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Checks that a value is a log event of a thread; user code may have posted it. */
export function isLogEvent(value: unknown): value is LogEvent {
  if (typeof value !== "object" || value === null) return false;
  const { level, message, fields } = value as { [Key in keyof LogEvent]?: unknown };
  const isLevel = level !== "silent" && (LOG_LEVELS as readonly unknown[]).includes(level);
  return isLevel && typeof message === "string" && isPlainObject(fields);
}

/** A logger that sends its events to the main thread, filtered by `logged`. */
export function createThreadLogger(logged: Logged, send: (event: LogEvent) => void): Logger {
  return fromFilter(new LogFilter(logged), send, {});
}

function fromFilter(filter: LogFilter, send: (event: LogEvent) => void, bound: LogEvent["fields"]): Logger {
  const at =
    (level: LogEvent["level"]) =>
    (message: unknown, fields: unknown = {}) => {
      if (!filter.writes(level)) return;
      const event = orderedEvent(message, fields);
      send({ level, message: event.message, fields: toPlainFields({ ...bound, ...event.fields }) });
    };
  return {
    get level() {
      return filter.level;
    },
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => fromFilter(filter, send, { ...bound, ...fields }),
  };
}

/** JavaScript callers may pass any value: an error instead of a text, or the fields first, as for other loggers. */
function orderedEvent(message: unknown, fields: unknown): Pick<LogEvent, "message" | "fields"> {
  if (typeof message === "string") return { message, fields: toFields(fields) };
  if (typeof fields === "string") return { message: fields, fields: toFields(message) };
  return { message: reasonText(message), fields: { ...toFields(message), ...toFields(fields) } };
}

function toFields(value: unknown): LogEvent["fields"] {
  if (value instanceof Error) return { err: value };
  return typeof value === "object" && value !== null ? (value as LogEvent["fields"]) : {};
}

/** Writes a thread's event to the main thread's log. */
export function logEvent(log: Logger, { level, message, fields }: LogEvent): void {
  log[level](message, fields);
}

/** Fields that cannot cross threads (functions, class instances with private members) become text. */
function toPlainFields(fields: LogEvent["fields"]): LogEvent["fields"] {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toPlain(value)]));
}

function toPlain(value: unknown): unknown {
  try {
    return value instanceof Error ? toPlainError(value) : structuredClone(value);
  } catch {
    return reasonText(value);
  }
}

/** Causes of causes beyond this depth become text; an error may be its own cause. */
const MAX_CAUSES = 4;

/** Only the texts of the error: its other members may not be able to cross threads, and posting them would throw. */
function toPlainError({ message, stack, cause }: Error, depth = 0): Error {
  const plain = new Error(reasonText(message));
  plain.stack = reasonText(stack ?? message);
  if (cause === undefined) return plain;
  plain.cause = cause instanceof Error && depth < MAX_CAUSES ? toPlainError(cause, depth + 1) : reasonText(cause);
  return plain;
}
