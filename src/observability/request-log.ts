import type { LogFilter } from "./log-filter.ts";
import type { LogLevel } from "./log-level.ts";
import type { Logger } from "./logger.ts";
import { loggedId } from "./request-id.ts";

type Fields = Readonly<Record<string, unknown>>;
type Level = Exclude<LogLevel, "silent">;
type Write = Logger[Level];

/** A log whose every line carries a request's id. It costs one small object, since most requests log nothing; its functions may be passed on alone. */
export class RequestLog implements Logger {
  readonly #log: Logger;
  readonly #requestId: string;

  constructor(log: Logger, requestId: string) {
    this.#log = log;
    this.#requestId = requestId;
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
    return this.#log.child({ requestId: loggedId(this.#requestId), ...fields });
  }

  #at(level: Level): Write {
    return (message, fields) => this.#log[level](message, { requestId: loggedId(this.#requestId), ...fields });
  }
}
