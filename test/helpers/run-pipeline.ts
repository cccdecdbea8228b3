import type { Hooks } from "../../src/hooks/hooks.ts";
import { createLogger } from "../../src/observability/logger.ts";
import type { Payload } from "../../src/pipeline/payload.ts";
import type { PipelineRequest, PipelineResult } from "../../src/pipeline/pipeline.ts";
import { type LoadedServable, loadServable, type ServableSource } from "../../src/repository/load-servable.ts";
import { toNested } from "../../src/tensor/nested.ts";
import type { Values } from "../../src/tensor/plain-value.ts";
import { toTensors } from "../../src/tensor/plain-value.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";

const remote = { predict: () => Promise.reject(new Error("no remote in this test")), close: async () => {} };

/** Loads a pipeline as the server does, without any wire. */
export function loadPipeline(source: Partial<ServableSource>): Promise<LoadedServable> {
  const defaults = { name: "default", version: 1n, models: [{ driver: "null" }], options: {} };
  const thread = { hookTimeoutMs: 0, stallMs: 0, memoryMb: 512, inspect: false };
  const log = createLogger({ level: "silent" });
  return loadServable({ ...defaults, ...source }, { remote, log, workers: 1, instances: 1, modelStallMs: 0, thread });
}

/** One stage of the null driver for each slot. */
export function nullModels(count: number): { driver: string }[] {
  return Array.from({ length: count }, () => ({ driver: "null" }));
}

/** Runs one request through hooks and null models and returns the outputs as plain nested values. */
export async function runPipeline(hooks: Hooks, inputs: Values, models = 1): Promise<Record<string, unknown>> {
  const { servable } = await loadPipeline({ hooks, models: nullModels(models) });
  const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors(inputs) });
  return outputs.kind === "tensors" ? plain(outputs.tensors) : JSON.parse(Buffer.from(outputs.json).toString());
}

/** Runs one payload through a servable. */
export function run(
  servable: LoadedServable["servable"],
  inputs: Payload,
  options: Partial<Pick<PipelineRequest, "signal" | "outputs" | "metadata" | "memory">> & { signature?: string } = {},
): Promise<PipelineResult> {
  const { signal = new AbortController().signal, metadata = {}, outputs, memory, signature = "" } = options;
  const info = { id: "1", model: servable.name, version: servable.version, signature };
  return servable.run({ info, inputs, metadata, memory, signal, ...(outputs && { outputs }) });
}

/** Tensors as nested arrays; bytes as text. */
export function plain(tensors: Tensors): Record<string, unknown> {
  const leaf = (element: unknown) => (element instanceof Uint8Array ? Buffer.from(element).toString() : element);
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, toNested(tensor, leaf)]));
}
