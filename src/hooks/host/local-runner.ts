import { hookFacts } from "../../pipeline/hook-places.ts";
import { HookClock } from "../../pipeline/hook-times.ts";
import { cutLargeJson, isLargeJson } from "../../pipeline/json-jobs.ts";
import { Pipeline, type PipelineParts } from "../../pipeline/pipeline.ts";
import type { PipelineRunner } from "../../pipeline/runner.ts";
import { OtherModels } from "./other-models.ts";
import { type StartParts, startHooks } from "./start-hooks.ts";

/** Runs a pipeline in this thread: one without hooks, or with hooks that are debugged or embedded. */
export async function startLocalRunner(
  parts: Omit<PipelineParts, "globalCtx" | "findOther">,
  start: Omit<StartParts, "models" | "log" | "hookTimeoutMs">,
): Promise<PipelineRunner> {
  const { models, hooks, log, hookTimeoutMs = 0 } = parts;
  const started = await startHooks(hooks, { ...start, models, log, hookTimeoutMs });
  const others = new OtherModels(start.loadMore);
  const findOther = others.find.bind(others);
  const clock = hooks && new HookClock(models.length);
  const pipeline = new Pipeline({ ...parts, globalCtx: started.globalCtx, findOther, ...(clock && { clock }) });
  let open = true;
  return {
    signatures: pipeline.signatures,
    ...(hooks && { hooks: hookFacts(hooks) }),
    run: async (request) =>
      pipeline.run(hooks !== undefined && isLargeJson(request) ? await cutLargeJson(request) : request),
    isReady: () => open,
    ...(clock && { hookTimes: () => clock.read() }),
    close: async () => {
      open = false;
      await started.close();
      await others.close();
    },
  };
}
