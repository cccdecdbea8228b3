import { failedPrecondition } from "../errors.ts";
import type { ModelFacts } from "../model-host/model-facts.ts";
import type { TensorSpec } from "../signature/signature.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { isCompatibleSpec } from "./is-compatible-spec.ts";
import { specText } from "./spec-text.ts";

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
