import type { AnyHooks } from "../../hooks/hooks.ts";
import type { ModelHost } from "../../model-host/model-host.ts";
import type { PipelineRunner } from "../../pipeline/runner.ts";
import { WarmUp, type WarmUpParts } from "./warm-up.ts";
import type { WarmUpEntry } from "./warm-up-entry.ts";

/** The pipeline that is warmed up. */
interface WarmedSource extends Pick<WarmUpParts, "name" | "version"> {
  readonly hooks?: string | AnyHooks;
  readonly warmUp?: readonly WarmUpEntry[] | undefined;
}

type WarmUpOptions = Omit<WarmUpParts, "name" | "version" | "entries">;

/** Creates the warm-up of a pipeline. Hook sets run in this thread only. */
export function createWarmUp(
  { name, version, hooks, warmUp: entries = [] }: WarmedSource,
  { instances, workers, recorded, savedModelWarmup, signal, log }: WarmUpOptions,
): WarmUp {
  const threads = typeof hooks === "string" ? workers : 1;
  return new WarmUp({ name, version, entries, instances, workers: threads, recorded, savedModelWarmup, signal, log });
}

/** Has threads that replace others later warmed up too, when the load's own signal does not count any more. */
export function warmUpThreads(
  source: WarmedSource,
  options: WarmUpOptions,
  { hosts, runner }: { readonly hosts: readonly ModelHost[]; readonly runner: PipelineRunner },
): void {
  const isAlone = hosts.length === 1 && source.hooks === undefined;
  const warm = async (run: (warmUp: WarmUp) => Promise<void>) => {
    const warmUp = createWarmUp(source, { ...options, signal: undefined, instances: 1, workers: 1 });
    await run(warmUp);
    warmUp.end();
  };
  for (const [stage, host] of hosts.entries())
    host.warmUpThreads?.((copy) => warm((warmUp) => warmUp.copy(copy, stage, isAlone)));
  runner.warmUpThreads?.((thread) => warm((warmUp) => warmUp.pipeline(thread)));
}
