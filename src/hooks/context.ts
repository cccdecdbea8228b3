import { setMaxListeners } from "node:events";
import { type CancelSignal, toAbortSignal } from "../async/cancel-source.ts";
import type { Logger } from "../observability/logger.ts";
import type {
  HookContext,
  OtherModels,
  RemoteHandle,
  RequestContext,
  RequestInfo,
  ResponseInfo,
  StageHandle,
} from "./hooks.ts";

/** Parts of a {@link HookContext}. */
export interface ContextParts {
  readonly drivers: readonly StageHandle[];
  readonly globalCtx: unknown;
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: RequestInfo;
  readonly signal: CancelSignal;
  readonly call?: ClientCall;
  readonly log: Logger;
  readonly models: OtherModels;
  /** A client of another server, bound to this request's signal and deadline. */
  readonly remote: (address: string) => RemoteHandle;
}

/** Facts about the client's call that gRPC's context has, for Python hooks. */
interface ClientCall {
  /** Time at which the client stops waiting, in milliseconds since the epoch; absent = it does not say. */
  readonly deadline?: number | undefined;
  /** The other end of its connection, as gRPC names it; absent = not known. */
  readonly peer?: string | undefined;
}

/** The client's call of a request, by its context; nothing for a copy of the context. */
export function clientCallOf(ctx: HookContext): ClientCall {
  return ctx instanceof OwnContext ? ctx.clientCall() : {};
}

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
  readonly #signal: CancelSignal;
  readonly #call: ClientCall;

  constructor({ drivers, globalCtx, metadata, request, signal, call = {}, log, models, remote }: ContextParts) {
    this.drivers = drivers;
    this.global_ctx = globalCtx;
    this.metadata = metadata;
    this.request = request;
    this.log = log;
    this.models = models;
    this.remote = remote;
    this.#signal = signal;
    this.#call = call;
  }

  clientCall(): ClientCall {
    return this.#call;
  }

  /** Created at the first use: it takes as long as everything else that a small request needs for its hooks. */
  get signal(): AbortSignal {
    const signal = toAbortSignal(this.#signal);
    // A hook may start any number of calls that end with the request.
    setMaxListeners(0, signal);
    return signal;
  }
}
