import type { Logger } from "./logger.ts";
import type { RequestRecord } from "./request-record.ts";

/** The beginning and the end of a request. */
export interface RequestOutcome {
  readonly protocol: "grpc" | "http";
  /** HTTP's method; absent over gRPC. */
  readonly method?: string | undefined;
  /** The path without a query string, or gRPC's method. */
  readonly path: string;
  /** HTTP's status, or gRPC's number; with 499 or 1 for a client that left before its answer. */
  readonly status: number;
  /** True if the connection ended before the answer was sent completely. */
  readonly isCut?: boolean;
  /** HTTP's status for how such a request ended, which is not the one that was sent; absent = `status`. */
  readonly endStatus?: number;
  /** gRPC's status by its name in the table of errors, or `ok`. */
  readonly code?: string;
}

/** Characters of a path that are logged. */
const MAX_PATH = 200;

/** Address and headers of a request. */
type Origin = { readonly address: string; readonly headers: Readonly<Record<string, unknown>> };

/** Settings of an access log. */
export interface AccessLogOptions {
  /** Writes at level `info` if the access log is on. Default: it is not. */
  readonly logging?: { readonly accessLog: boolean } | undefined;
  /** Gives the address of the client behind trusted proxies. Default: the connection's. */
  readonly addressOf?: ((origin: Origin) => string) | undefined;
}

/** Writes one line for each request: at level `info` if that was asked for, else at level `debug`. */
export class AccessLog {
  readonly #log: Logger;
  readonly #isAskedFor: boolean;
  readonly #addressOf: (origin: Origin) => string;

  constructor(log: Logger, { logging, addressOf = ({ address }) => address }: AccessLogOptions = {}) {
    this.#log = log;
    this.#isAskedFor = logging?.accessLog ?? false;
    this.#addressOf = addressOf;
  }

  /** Notes the client of a request that begins, if its line is to be written. */
  begin(record: RequestRecord, origin: Origin): void {
    if (this.isOn) record.client = this.#addressOf(origin);
  }

  /** True while requests that begin now are to be logged. */
  get isOn(): boolean {
    const level = this.#isAskedFor ? "info" : "debug";
    const { filter } = this.#log;
    return filter === undefined ? this.#isAskedFor : filter.writes(level);
  }

  /** Writes the line of a request that is over. Never a body, nor a query string. */
  write(record: RequestRecord, { path, isCut, endStatus: _, ...outcome }: RequestOutcome): void {
    const { messages, parts, requestBytes, responseBytes, client } = record;
    const fields = {
      ...record.fields(),
      ...(client !== "" && { client }),
      ...outcome,
      path: loggedPath(path),
      ...(isCut === true && { cut: true }),
      ...(messages !== undefined && { messages }),
      ...(parts !== undefined && { parts }),
      requestBytes,
      responseBytes,
      ...record.times(),
    };
    const message = messages === undefined ? "request" : "stream";
    if (this.#isAskedFor) this.#log.info(message, fields);
    else this.#log.debug(message, fields);
  }
}

/** The beginning of a URL as log lines have it: its query string may hold secrets. */
export function loggedPath(url: string): string {
  const end = url.indexOf("?");
  return url.slice(0, end < 0 ? MAX_PATH : Math.min(end, MAX_PATH));
}
