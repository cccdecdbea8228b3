import { failedPrecondition } from "../../errors.ts";
import type { ModelFacts } from "../../models/model-facts.ts";
import type { Dimension, TensorSpec } from "../../tensor/signature/signature.ts";
import type { ModelConfig } from "./config/model-config.ts";
import type { EnsembleStep } from "./implied-hooks.ts";

/**
 * Compares the tensors that a configuration describes with those of the loaded model: inputs of the first stage,
 * outputs of the last. Throws `failed_precondition` with the tensor, the model's spec and the expected one. Tensors
 * that a model does not describe are not compared.
 */
export function assertExpected({ name, expected }: ModelConfig, models: readonly ModelFacts[]): void {
  if (expected === undefined) return;
  const [first, last] = [models[0], models.at(-1)];
  assertTensors(`input of ${name}`, expected.inputs, first?.signatures[first.defaultSignature]?.inputs);
  assertTensors(`output of ${name}`, expected.outputs, last?.signatures[last.defaultSignature]?.outputs);
}

function assertTensors(what: string, expected: readonly TensorSpec[], found: readonly TensorSpec[] | undefined): void {
  if (found === undefined) return;
  for (const spec of expected) {
    const same = found.find(({ name }) => name === spec.name);
    if (same === undefined) {
      const names = found.map(({ name }) => name).join(", ");
      throw failedPrecondition(
        `The configuration has "${spec.name}" as an ${what}, which the model has not; expected some of ${names}.`,
      );
    }
    if (!isCompatibleSpec(spec, same))
      throw failedPrecondition(
        `The ${what} "${spec.name}" is ${specText(same)}, but its configuration expects ${specText(spec)}.`,
      );
  }
}

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

/** Undefined if the model does not describe its tensors. */
function specOf(own: string, specs: readonly TensorSpec[] | undefined, what: string): TensorSpec | undefined {
  const spec = specs?.find(({ name }) => name === own);
  if (spec !== undefined || specs === undefined) return spec;
  const names = specs.map(({ name }) => name).join(", ");
  throw failedPrecondition(`There is no "${own}", which is to be an ${what}; expected some of ${names}.`);
}

/** Checks that a configured tensor and a model's tensor have the same type and compatible sizes. */
function isCompatibleSpec(expected: TensorSpec, found: TensorSpec): boolean {
  if (expected.dtype !== found.dtype) return false;
  const { shape } = found;
  if (shape === undefined || expected.shape === undefined) return true;
  return shape.length === expected.shape.length && expected.shape.every((size, axis) => fits(size, shape[axis]!));
}

/** Sizes that are open on either side are compatible. */
function fits(expected: Dimension, found: Dimension): boolean {
  if (expected === -1 || found === -1 || typeof expected === "object") return true;
  if (typeof found === "object") return expected >= found.min && expected <= found.max;
  return expected === found;
}

/** A tensor's type and sizes in messages: `float32[-1,10]`. */
function specText({ dtype, shape }: TensorSpec): string {
  const sizes = shape?.map((size) => (typeof size === "object" ? `${size.min}..${size.max}` : String(size)));
  return sizes === undefined ? dtype : `${dtype}[${sizes.join(",")}]`;
}
