import { failedPrecondition } from "../errors.ts";
import type { ModelFacts } from "../model-host/model-facts.ts";
import type { TensorSpec } from "../signature/signature.ts";
import type { ModelConfig } from "./config/model-config.ts";
import type { EnsembleStep } from "./ensemble.ts";
import { isCompatibleSpec } from "./is-compatible-spec.ts";
import { specText } from "./spec-text.ts";

/** Tensors of an ensemble, by name, as their sources describe them. */
type Sources = Map<string, TensorSpec>;

/**
 * Compares the steps of an ensemble with their loaded models: the names, types and sizes of the tensors that they pass
 * on. Throws `failed_precondition` with the step, the tensor and the model's own spec. Tensors that a model does not
 * describe are not compared.
 */
export function assertEnsemble({ name, ensemble }: ModelConfig, models: readonly ModelFacts[]): void {
  if (ensemble === undefined) return;
  const sources: Sources = new Map(ensemble.inputs.map((spec) => [spec.name, spec]));
  for (const [index, step] of ensemble.steps.entries())
    assertStep(step, models[index], { sources, title: `the model ${step.model} of the ensemble ${name}` });
  for (const spec of ensemble.outputs) {
    const made = sources.get(spec.name) ?? spec;
    if (!isCompatibleSpec(spec, made))
      throw failedPrecondition(
        `The output "${spec.name}" of the ensemble ${name} is ${specText(spec)}, but it is made as ${specText(made)}.`,
      );
  }
}

interface Place {
  readonly sources: Sources;
  /** The name of a step in messages. */
  readonly title: string;
}

function assertStep({ inputs, outputs }: EnsembleStep, facts: ModelFacts | undefined, { sources, title }: Place): void {
  const signature = facts?.signatures[facts.defaultSignature] ?? {};
  const left = signature.inputs?.find((spec) => inputs[spec.name] === undefined && spec.default === undefined);
  if (left !== undefined)
    throw failedPrecondition(`The input "${left.name}" of ${title} is mapped to no tensor; add it to input_map.`);
  for (const [own, tensor] of Object.entries(inputs)) {
    const spec = specOf(own, signature.inputs, `input of ${title}`);
    const given = sources.get(tensor);
    if (spec === undefined || given === undefined || isCompatibleSpec(given, convertible(spec, given))) continue;
    throw failedPrecondition(
      `"${tensor}" is ${specText(given)}, but the input "${own}" of ${title} takes ${specText(spec)}; the batch counts where max_batch_size is over 0.`,
    );
  }
  for (const [own, tensor] of Object.entries(outputs)) {
    const spec = specOf(own, signature.outputs, `output of ${title}`);
    if (spec !== undefined) sources.set(tensor, spec);
  }
}

/** Converted inputs take numbers of any type. */
function convertible(spec: TensorSpec, { dtype }: TensorSpec): TensorSpec {
  return spec.convertsNumbers === true ? { ...spec, dtype } : spec;
}

/** Undefined where the model does not describe its tensors. */
function specOf(own: string, specs: readonly TensorSpec[] | undefined, what: string): TensorSpec | undefined {
  const spec = specs?.find(({ name }) => name === own);
  if (spec !== undefined || specs === undefined) return spec;
  const names = specs.map(({ name }) => name).join(", ");
  throw failedPrecondition(`There is no "${own}", which is to be an ${what}; expected some of ${names}.`);
}
