import type { ServingError } from "../errors.ts";
import { type HookSet, toHooks, validateHooks } from "../hooks/hook-set.ts";
import { withinStartLimit } from "../hooks/start-limit.ts";
import type { Logger } from "../observability/logger.ts";
import type { HookThreadData } from "./hook-protocol.ts";
import { isPythonFile } from "./python/copy-python-hooks.ts";

/** Hooks that are imported and checked. */
export interface OpenedHooks {
  readonly hooks: HookSet;
  /** Files that only the import has shown. */
  readonly sources?: readonly string[];
  /** Number of the process that runs them. */
  readonly pid?: number | undefined;
  /**
   * Time limit that the pipeline applies to each hook, in milliseconds; 0 = none, or the hooks' process has its own.
   */
  readonly hookTimeoutMs: number;
  /** Resolves when hooks that run elsewhere cannot run any more, with the reason. */
  readonly lost?: Promise<ServingError>;
  close(): Promise<void>;
}

/** Imports the hooks of a file in this thread, or in a Python process of this thread. Throws `failed_precondition`. */
export async function openHooks(data: HookThreadData, log: Logger): Promise<OpenedHooks> {
  const { file, hookTimeoutMs, stageCount } = data;
  const limit = { hookTimeoutMs, log };
  const step = `${file} has not been loaded`;
  if (isPythonFile(file)) {
    const { startPythonHooks } = await import("./python/start-python-hooks.ts");
    return { ...(await withinStartLimit(startPythonHooks(data, log), step, limit)), hookTimeoutMs: 0 };
  }
  const { importCompiled } = await import("../user-module/user-module.ts");
  const exports = await withinStartLimit(importCompiled(data.url, file), step, limit);
  return { hooks: validateHooks(toHooks(exports, file), stageCount, file), hookTimeoutMs, close: async () => {} };
}
