import { createSilentLogger } from "../../src/observability/logger.ts";
import type { AspiredModel, AspiredVersion } from "../../src/serving/aspired-model.ts";
import { type ManagerOptions, ModelManager } from "../../src/serving/model-manager.ts";
import { ModelMemory } from "../../src/serving/model-memory.ts";
import type { ServableSource } from "../../src/serving/repository/load-servable.ts";
import { loadPipeline } from "../helpers/run-pipeline.ts";

const OPTIONS: ManagerOptions = {
  threads: 2,
  timeoutMs: 0,
  retries: 0,
  retryMs: 1,
  strictReadiness: false,
  allowLabelsForUnavailable: false,
  idleUnloadMs: 0,
  memory: new ModelMemory({ maxBytes: 0, isChecked: false }),
  log: createSilentLogger(),
};

/** A manager that has what it should serve, or has failed to load it. */
export async function manage(
  models: readonly AspiredModel[],
  options: Partial<ManagerOptions> = {},
): Promise<ModelManager> {
  const manager = new ModelManager({ ...OPTIONS, ...options });
  manager.aspire(models);
  await manager.settled();
  return manager;
}

/** A manager with one pipeline. */
export function managePipeline(source: Partial<ServableSource>): Promise<ModelManager> {
  return manage([{ name: "default", versions: [pipelineVersion(1n, source)] }]);
}

/** A version that is a pipeline. */
export function pipelineVersion(version: bigint, source: Partial<ServableSource> = {}): AspiredVersion {
  const load = async () => (await loadPipeline({ version, ...source })).servable;
  return { version, fingerprint: "1", load };
}
