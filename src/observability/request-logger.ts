import type { LogFilter, LogLevel } from "./log-filter.ts";
import type { Logger } from "./logger.ts";
import { loggedId } from "./request-id.ts";
import type { Timeline } from "./timeline.ts";

type Fields = Readonly<Record<string, unknown>>;
type Level = Exclude<LogLevel, "silent">;
type Write = Logger[Level];

/**
 * A log whose every line carries a request's id. It costs one small object, since most requests log nothing; its
 * functions may be passed on alone.
 */
export class RequestLogger implements Logger {
  readonly #log: Logger;
  readonly #requestId: string;
  readonly #timeline: Timeline | undefined;

  /** With a timeline that is traced, lines name the trace and the span that runs then. */
  constructor(log: Logger, requestId: string, timeline?: Timeline) {
    this.#log = log;
    this.#requestId = requestId;
    this.#timeline = timeline;
  }

  get level(): LogLevel {
    return this.#log.level;
  }

  get filter(): LogFilter | undefined {
    return this.#log.filter;
  }

  get trace(): Write {
    return this.#at("trace");
  }

  get debug(): Write {
    return this.#at("debug");
  }

  get info(): Write {
    return this.#at("info");
  }

  get warn(): Write {
    return this.#at("warn");
  }

  get error(): Write {
    return this.#at("error");
  }

  child(fields: Fields): Logger {
    return this.#log.child({ ...this.#names(), ...fields });
  }

  #at(level: Level): Write {
    return (message, fields) => this.#log[level](message, { ...this.#names(), ...fields });
  }

  #names(): Fields {
    const requestId = loggedId(this.#requestId);
    const span = this.#timeline?.currentSpan;
    return span === undefined ? { requestId } : { requestId, trace_id: span.traceId, span_id: span.spanId };
  }
}
