import { Pipeline, type PipelineParts } from "../pipeline/pipeline.ts";
import type { PipelineRunner } from "../pipeline/runner.ts";
import { type StartParts, startHooks } from "./start-hooks.ts";

/** Runs a pipeline in this thread: one without hooks, or hooks that are debugged or embedded. */
export async function startLocalRunner(
  parts: Omit<PipelineParts, "globalCtx">,
  start: Omit<StartParts, "models" | "log" | "hookTimeoutMs">,
): Promise<PipelineRunner> {
  const { models, hooks, log, hookTimeoutMs = 0 } = parts;
  const started = await startHooks(hooks, { ...start, models, log, hookTimeoutMs });
  const pipeline = new Pipeline({ ...parts, globalCtx: started.globalCtx });
  let open = true;
  return {
    signatures: pipeline.signatures,
    run: (request) => pipeline.run(request),
    isReady: () => open,
    close: async () => {
      open = false;
      await started.close();
    },
  };
}
