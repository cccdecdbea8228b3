import { isLogEvent } from "../../threads/thread-logger.ts";
import { isWireError } from "../../threads/wire-error.ts";
import type { ModelThreadEvent } from "./model-thread-messages.ts";

/**
 * A user's driver, or a package that it imports, may post to the thread's parent port
 * too; native code may run there, so the thread stays.
 */
export function isModelThreadEvent(value: unknown): value is ModelThreadEvent {
  if (typeof value !== "object" || value === null) return false;
  const { log, failed, loaded, unloaded, detached, id } = value as { readonly [name: string]: unknown };
  if (typeof detached === "number" || typeof unloaded === "number") return true;
  if (typeof id !== "number") return false;
  if (log !== undefined) return isLogEvent(log);
  if (failed !== undefined) return isWireError(failed);
  return typeof loaded === "object" && loaded !== null && "facts" in loaded;
}
