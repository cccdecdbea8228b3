import type { Logger } from "../observability/logger.ts";
import type { HookContext, RemoteHandle, RequestInfo, StageHandle } from "./hooks.ts";

/** What a {@link HookContext} is made of. */
export interface ContextParts {
  readonly drivers: readonly StageHandle[];
  readonly globalCtx: unknown;
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: RequestInfo;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** A client of another server, bound to this request's signal and deadline. */
  readonly remote: (address: string) => RemoteHandle;
}

/** A fresh context for one request; any further attribute is the hooks' own. */
export function createContext(parts: ContextParts): HookContext {
  const { globalCtx, ...rest } = parts;
  return { ...rest, global_ctx: globalCtx, response: { metadata: {} } };
}
