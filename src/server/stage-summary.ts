import type { ModelFacts } from "../models/model-facts.ts";
import { knownInputs, type LooseSpec, type TensorSpec } from "../tensor/signature/signature.ts";

/** One stage of a running server. */
export interface StageSummary {
  /** From 1. */
  readonly index: number;
  readonly driver: string;
  readonly path: string;
  /** The runtime with its version and place: `ONNX Runtime 1.30.0 of the runtimes folder`. */
  readonly runtime?: string;
  /** Undefined = any. Those whose dtype is not known are not checked before the model runs. */
  readonly inputs: readonly LooseSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
  readonly loadMs: number;
}

/** Describes stages for people. */
export function summarizeStages(models: readonly ModelFacts[]): readonly StageSummary[] {
  return models.map(summarize);
}

function summarize(model: ModelFacts, index: number): StageSummary {
  const { driver, path, runtime, loadMs, signatures, defaultSignature } = model;
  const signature = signatures[defaultSignature] ?? {};
  return {
    index: index + 1,
    driver,
    path,
    ...(runtime !== undefined && { runtime }),
    inputs: knownInputs(signature),
    outputs: signature.outputs,
    loadMs,
  };
}
