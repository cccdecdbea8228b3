import { setMaxListeners } from "node:events";
import type {
  HookContext,
  OtherModels,
  RemoteHandle,
  RequestContext,
  RequestInfo,
  ResponseInfo,
  StageHandle,
} from "../hooks/hooks.ts";
import type { LogFilter, LogLevel } from "../observability/log-filter.ts";
import type { Logger } from "../observability/logger.ts";
import { loggedId } from "../observability/request-id.ts";
import type { Timeline } from "../observability/timeline.ts";
import { toAbortSignal } from "../platform/async/cancel-source.ts";
import type { CallOptions } from "./call-options.ts";
import type { PartSink } from "./infer-request.ts";

/** Parts of a {@link HookContext}. */
export interface ContextParts {
  readonly drivers: readonly StageHandle[];
  readonly globalCtx: unknown;
  readonly request: RequestInfo;
  readonly call: ClientCall;
  /** Takes the parts of the request's answer; absent = it is answered once. */
  readonly parts?: Pick<PartSink, "crowded"> | undefined;
  readonly log: Logger;
  readonly models: OtherModels;
  /** A client of another server, bound to this request's signal and deadline. */
  readonly remote: (address: string) => RemoteHandle;
}

/** The client's call of a request, by its context; undefined for a copy of the context. */
export function clientCallOf(ctx: HookContext): ClientCall | undefined {
  return ctx instanceof OwnContext ? ctx.clientCall() : undefined;
}

/** Tells who takes the parts of a request's answer that others wait for a place that it holds. */
export function tellCrowded(ctx: HookContext): void {
  if (ctx instanceof OwnContext) ctx.tellCrowded();
}

/** Parts of a call that hooks see; those in Python see its deadline and the client's address too. */
type ClientCall = Pick<CallOptions, "metadata" | "signal"> & Partial<CallOptions>;

/** A new context for one request; further attributes belong to the hooks. */
export function createContext(parts: ContextParts): HookContext {
  return new OwnContext(parts);
}

/** A class, not a literal with a getter: each such literal has its own hidden class, which outlives the request. */
class OwnContext implements RequestContext {
  readonly drivers: readonly StageHandle[];
  readonly global_ctx: unknown;
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: RequestInfo;
  part: number | undefined = undefined;
  readonly response: ResponseInfo = { metadata: {} };
  readonly log: Logger;
  readonly models: OtherModels;
  readonly remote: (address: string) => RemoteHandle;
  readonly #call: ClientCall;
  readonly #parts: ContextParts["parts"];

  constructor({ drivers, globalCtx, request, call, parts, log, models, remote }: ContextParts) {
    this.drivers = drivers;
    this.global_ctx = globalCtx;
    this.metadata = call.metadata;
    this.request = request;
    this.log = log;
    this.models = models;
    this.remote = remote;
    this.#call = call;
    this.#parts = parts;
  }

  clientCall(): ClientCall {
    return this.#call;
  }

  tellCrowded(): void {
    this.#parts?.crowded?.();
  }

  /** Created at the first use: it takes as long as everything else that a small request needs for its hooks. */
  get signal(): AbortSignal {
    const signal = toAbortSignal(this.#call.signal);
    // A hook may start any number of calls that end with the request.
    setMaxListeners(0, signal);
    return signal;
  }
}

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
