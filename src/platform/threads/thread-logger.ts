import { reasonText } from "../../errors.ts";
import { boundFields, boundMessage } from "../../observability/bound-event.ts";
import { LOG_LEVELS, LogFilter, type Logged, type LogLevel } from "../../observability/log-filter.ts";
import { LogLimit } from "../../observability/log-limit.ts";
import type { Logger } from "../../observability/logger.ts";
import { isPlainObject } from "../../tensor/record.ts";

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

/** A thread's logger for users' code, which sends as many events as the log takes from one source. */
export function createLimitedLogger(logged: Logged, send: (event: LogEvent) => void): Logger {
  const limit = new LogLimit();
  return createThreadLogger(logged, (event) => {
    const tell = (message: string) => send({ level: "warn", message, fields: {} });
    if (limit.takes(sizeOf(event), tell)) send(event);
  });
}

function fromFilter(filter: LogFilter, send: (event: LogEvent) => void, bound: LogEvent["fields"]): Logger {
  const at =
    (level: LogEvent["level"]) =>
    (message: unknown, fields: unknown = {}) => {
      if (!filter.writes(level)) return;
      const event = orderedEvent(message, fields);
      const own = boundFields({ ...bound, ...event.fields });
      send({ level, message: boundMessage(event.message), fields: toPlainFields(own) });
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

/** Writes the events of one thread or process to the main thread's log, as far as that takes them from one source. */
export class EventWriter {
  readonly #limit = new LogLimit();

  write(log: Logger, event: LogEvent): void {
    const { level, message, fields } = event;
    if (this.#limit.takes(sizeOf(event), (text) => log.warn(text))) log[level](message, fields);
  }
}

/** Characters of an event as far as its texts are of the first level. */
function sizeOf({ message, fields }: LogEvent): number {
  let size = message.length;
  for (const name in fields) size += name.length + sizeOfValue(fields[name]);
  return size;
}

function sizeOfValue(value: unknown): number {
  if (typeof value === "string") return value.length;
  return value instanceof Error && typeof value.stack === "string" ? value.stack.length : 16;
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
