import { maskSecrets } from "../../platform/text/mask-secrets.ts";
import { printable } from "../../platform/text/terminal.ts";
import { boundFields, boundMessage } from "../bound-event.ts";
import { LOG_LEVELS, type LogLevel } from "../log-filter.ts";
import type { Logger } from "../logger.ts";
import type { LogLine } from "./live-data.ts";

type Fields = Readonly<Record<string, unknown>>;
type Level = Exclude<LogLevel, "silent">;

/** Lines that are kept, and characters of the fields of each. */
const [MAX_LINES, MAX_FIELDS] = [500, 2000];

/** Tails by the logs that they follow: a program's begins before its server does. */
const TAILS = new WeakMap<object, LogTail>();

/** The last lines of a log. */
export class LogTail {
  readonly #lines: LogLine[] = [];
  // Lines of a server that was started again are newer than those a page has of the one before.
  #last = Date.now();

  #isOver = false;

  /** The tail that follows a log already, else a new one. */
  static of(log: Logger): LogTail {
    return tailOf(log) ?? new LogTail();
  }

  /** The same log, whose lines are kept here too, without secrets; itself if they are already. */
  follow(log: Logger): Logger {
    if (tailOf(log) === this) return log;
    const followed = this.#follow(log, {});
    TAILS.set(followed, this);
    return followed;
  }

  /** Keeps no line any more, for a server without a page. */
  end(): void {
    this.#isOver = true;
    this.#lines.length = 0;
  }

  /** The lines after a number, oldest first. */
  after(number: number): readonly LogLine[] {
    return this.#lines.filter((line) => line.number > number);
  }

  #follow(log: Logger, given: Fields): Logger {
    const at =
      (level: Level) =>
      (text: string, all?: Fields): void => {
        const isTold = !this.#isOver && isWritten(log, level);
        const [message, fields] = isTold ? [boundMessage(text), all && boundFields(all)] : [text, all];
        // What a program's own log takes is its own to say.
        log[level](message, fields);
        if (isTold) this.#add(level, message, { ...given, ...fields });
      };
    return {
      get level() {
        return log.level;
      },
      get filter() {
        return log.filter;
      },
      ...{ trace: at("trace"), debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
      child: (fields) => this.#follow(log.child(fields), { ...given, ...boundFields(fields) }),
    };
  }

  #add(level: Level, message: string, fields: Fields): void {
    const text = Object.keys(fields).length === 0 ? "" : toText(fields);
    const safe = (raw: string) => printable(maskSecrets(raw));
    this.#lines.push({ number: ++this.#last, at: Date.now(), level, message: safe(message), fields: safe(text) });
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}

/** A log may be another one's with some other methods. */
function tailOf(log: object | null): LogTail | undefined {
  return log === null ? undefined : (TAILS.get(log) ?? tailOf(Object.getPrototypeOf(log)));
}

function isWritten({ filter, level: least }: Logger, level: Level): boolean {
  return filter?.writes(level) ?? LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

function toText(fields: Fields): string {
  try {
    return JSON.stringify(fields, plain).slice(0, MAX_FIELDS);
  } catch {
    return "";
  }
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  return { message: value.message, ...(value.cause !== undefined && { cause: value.cause }) };
}
