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
import type { Logger } from "../observability/logger.ts";
import { toAbortSignal } from "../platform/async/cancel-source.ts";
import type { CallOptions } from "./call-options.ts";

/** Parts of a {@link HookContext}. */
export interface ContextParts {
  readonly drivers: readonly StageHandle[];
  readonly globalCtx: unknown;
  readonly request: RequestInfo;
  readonly call: ClientCall;
  readonly log: Logger;
  readonly models: OtherModels;
  /** A client of another server, bound to this request's signal and deadline. */
  readonly remote: (address: string) => RemoteHandle;
}

/** The client's call of a request, by its context; undefined for a copy of the context. */
export function clientCallOf(ctx: HookContext): ClientCall | undefined {
  return ctx instanceof OwnContext ? ctx.clientCall() : undefined;
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
  readonly response: ResponseInfo = { metadata: {} };
  readonly log: Logger;
  readonly models: OtherModels;
  readonly remote: (address: string) => RemoteHandle;
  readonly #call: ClientCall;

  constructor({ drivers, globalCtx, request, call, log, models, remote }: ContextParts) {
    this.drivers = drivers;
    this.global_ctx = globalCtx;
    this.metadata = call.metadata;
    this.request = request;
    this.log = log;
    this.models = models;
    this.remote = remote;
    this.#call = call;
  }

  clientCall(): ClientCall {
    return this.#call;
  }

  /** Created at the first use: it takes as long as everything else that a small request needs for its hooks. */
  get signal(): AbortSignal {
    const signal = toAbortSignal(this.#call.signal);
    // A hook may start any number of calls that end with the request.
    setMaxListeners(0, signal);
    return signal;
  }
}
