import type { Hooks } from "../../src/hooks/hooks.ts";
import type { CallOptions } from "../../src/pipeline/call-options.ts";
import type { InferResponse } from "../../src/pipeline/infer-request.ts";
import type { Payload } from "../../src/pipeline/payload.ts";
import { type LoadedServable, loadServable, type ServableSource } from "../../src/serving/repository/load-servable.ts";
import { toNested } from "../../src/tensor/elements.ts";
import { toTensors, type Values } from "../../src/tensor/plain-value.ts";
import type { Tensors } from "../../src/tensor/tensor.ts";
import { loadOptions } from "./load-options.ts";

/** Loads a pipeline as the server does, without any wire. */
export function loadPipeline(source: Partial<ServableSource>): Promise<LoadedServable> {
  const defaults = { name: "default", version: 1n, stages: [{ driver: "null" }], options: {} };
  return loadServable({ ...defaults, ...source }, loadOptions());
}

/** One stage of the null driver for each slot. */
export function nullModels(count: number): { driver: string }[] {
  return Array.from({ length: count }, () => ({ driver: "null" }));
}

/** Runs one request through hooks and null models and returns the outputs as plain nested values. */
export async function runPipeline(hooks: Hooks, inputs: Values, models = 1): Promise<Record<string, unknown>> {
  const { servable } = await loadPipeline({ hooks, stages: nullModels(models) });
  const { outputs } = await run(servable, { kind: "tensors", tensors: toTensors(inputs) });
  return outputs.kind === "tensors" ? plain(outputs.tensors) : JSON.parse(Buffer.from(outputs.json).toString());
}

/** Runs one payload through a servable. */
export function run(
  servable: LoadedServable["servable"],
  inputs: Payload,
  options: Partial<CallOptions> & { readonly outputs?: readonly string[]; readonly signature?: string } = {},
): Promise<InferResponse> {
  const { outputs, signature = "", ...own } = options;
  const call = { id: "1", metadata: {}, signal: new AbortController().signal, ...own };
  return servable.run({ signature: { name: signature, spec: undefined }, inputs, outputs, call });
}

/** Tensors as nested arrays; bytes as text. */
export function plain(tensors: Tensors): Record<string, unknown> {
  const leaf = (element: unknown) => (element instanceof Uint8Array ? Buffer.from(element).toString() : element);
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, toNested(tensor, leaf)]));
}
