import { failedPrecondition } from "../errors.ts";
import type { ModelFacts } from "../model-host/model-facts.ts";
import type { Dimension, TensorSpec } from "../signature/signature.ts";
import type { ModelConfig } from "./config/model-config.ts";

/**
 * Compares the tensors that a configuration describes with those of the loaded model: inputs of the first stage, outputs
 * of the last. Throws `failed_precondition` with the tensor, what the model has and what was expected. What a model does
 * not tell is not compared.
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
    if (!isCompatible(spec, same))
      throw failedPrecondition(
        `The ${what} "${spec.name}" is ${specText(same)}, but its configuration expects ${specText(spec)}.`,
      );
  }
}

function isCompatible(expected: TensorSpec, found: TensorSpec): boolean {
  if (expected.dtype !== found.dtype) return false;
  const { shape } = found;
  if (shape === undefined || expected.shape === undefined) return true;
  return (
    shape.length === expected.shape.length && expected.shape.every((size, axis) => fits(size, shape[axis] as Dimension))
  );
}

/** Sizes that are open on either side fit. */
function fits(expected: Dimension, found: Dimension): boolean {
  if (expected === -1 || found === -1 || typeof expected === "object") return true;
  if (typeof found === "object") return expected >= found.min && expected <= found.max;
  return expected === found;
}

function specText({ dtype, shape }: TensorSpec): string {
  const sizes = shape?.map((size) => (typeof size === "object" ? `${size.min}..${size.max}` : String(size)));
  return sizes === undefined ? dtype : `${dtype}[${sizes.join(",")}]`;
}
