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
  readonly log: Logger;
  readonly models: OtherModels;
  /** A client of another server, bound to this request's signal and deadline. */
  readonly remote: (address: string) => RemoteHandle;
}

/** A fresh context for one request; any further attribute is the hooks' own. */
export function createContext(parts: ContextParts): HookContext {
  return new OwnContext(parts);
}

/** A class, not a literal with a getter: of those each has a hidden class of its own, which outlives the request. */
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

  constructor({ drivers, globalCtx, metadata, request, signal, log, models, remote }: ContextParts) {
    this.drivers = drivers;
    this.global_ctx = globalCtx;
    this.metadata = metadata;
    this.request = request;
    this.log = log;
    this.models = models;
    this.remote = remote;
    this.#signal = signal;
  }

  /** Made only for those who look: it takes as long as all the rest of a small request's way through its hooks. */
  get signal(): AbortSignal {
    const signal = toAbortSignal(this.#signal);
    // A hook may start any number of calls that end with the request.
    setMaxListeners(0, signal);
    return signal;
  }
}
