import { createSilentLogger } from "../../src/observability/logger.ts";
import {
  type LoadingSettings,
  type SettingOptions,
  sliceSettings,
} from "../../src/platform/limits/settings/server-settings.ts";
import type { AspiredModel, AspiredVersion } from "../../src/serving/aspired-model.ts";
import { Executor } from "../../src/serving/executor.ts";
import { type ManagerOptions, ModelManager } from "../../src/serving/model-manager.ts";
import type { ServableSource } from "../../src/serving/repository/load-servable.ts";
import { loadPipeline } from "../helpers/run-pipeline.ts";

/** Settings of loading as they are given, and what a manager needs besides. */
export type ManageOptions = Partial<Omit<ManagerOptions, "loading"> & LoadingSettings>;

const LOADING: SettingOptions = {
  loadThreads: 2,
  loadTimeoutMs: 0,
  loadRetries: 0,
  loadRetryMs: 1,
  memoryCheck: false,
};

/** A manager that has what it should serve, or has failed to load it. */
export async function manage(models: readonly AspiredModel[], options: ManageOptions = {}): Promise<ModelManager> {
  const { loading } = sliceSettings({ ...LOADING, ...options });
  const { log = createSilentLogger() } = options;
  const executor = new Executor({ loading, log });
  const manager = new ModelManager({ executor, log, ...options, loading });
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
