import { failedPrecondition } from "../errors.ts";
import type { ModelFacts } from "../model-host/model-facts.ts";
import type { TensorSpec } from "../signature/signature.ts";
import type { ModelConfig } from "./config/model-config.ts";

/**
 * Compares the steps of an ensemble with the models that are loaded for them: names, and the types of what goes from one to another.
 * Throws `failed_precondition` with the step, the tensor and what the model has. What a model does not tell is not compared.
 */
export function assertEnsemble({ name, ensemble }: ModelConfig, models: readonly ModelFacts[]): void {
  if (ensemble === undefined) return;
  const types = new Map<string, string>(ensemble.inputs.map(({ name: tensor, dtype }) => [tensor, dtype]));
  for (const [index, { model, inputs, outputs }] of ensemble.steps.entries()) {
    const facts = models[index];
    const signature = facts?.signatures[facts.defaultSignature] ?? {};
    const step = `the model ${model} of the ensemble ${name}`;
    for (const spec of signature.inputs ?? [])
      if (inputs[spec.name] === undefined && spec.default === undefined)
        throw failedPrecondition(`The input "${spec.name}" of ${step} is mapped to no tensor; add it to input_map.`);
    for (const [own, tensor] of Object.entries(inputs)) {
      const spec = specOf(own, signature.inputs, `input of ${step}`);
      const given = types.get(tensor);
      if (spec !== undefined && given !== undefined && given !== spec.dtype && spec.convertsNumbers !== true)
        throw failedPrecondition(`"${tensor}" is ${given}, but the input "${own}" of ${step} takes ${spec.dtype}.`);
    }
    for (const [own, tensor] of Object.entries(outputs)) {
      const spec = specOf(own, signature.outputs, `output of ${step}`);
      if (spec !== undefined) types.set(tensor, spec.dtype);
    }
  }
  for (const { name: tensor, dtype } of ensemble.outputs) {
    const made = types.get(tensor) ?? dtype;
    if (made !== dtype)
      throw failedPrecondition(
        `The output "${tensor}" of the ensemble ${name} is ${dtype}, but it is made as ${made}.`,
      );
  }
}

/** Undefined where the model does not tell. */
function specOf(own: string, specs: readonly TensorSpec[] | undefined, what: string): TensorSpec | undefined {
  const spec = specs?.find(({ name }) => name === own);
  if (spec !== undefined || specs === undefined) return spec;
  const names = specs.map(({ name }) => name).join(", ");
  throw failedPrecondition(`There is no "${own}", which is to be an ${what}; expected some of ${names}.`);
}
