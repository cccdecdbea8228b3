import { type ErrorHint, hintedError, missingInput, unknownName } from "../error-info.ts";
import type { ServingError } from "../errors.ts";
import { meantText } from "../platform/text/nearest.ts";
import { fitsShape, formatShape, formatSpecs, type TensorSpec } from "../tensor/signature/signature.ts";
import { createTensors, type Tensor, type Tensors } from "../tensor/tensor.ts";

/** The parts of an input that {@link checkInputs} compares with its spec. */
export interface InputChecks {
  /** False for a model whose runtime decides which shapes it takes. Default true. */
  readonly shapes?: boolean;
}

/**
 * Checks names, dtypes and shapes against a signature's inputs and fills in defaults; absent specs take anything.
 * Throws `invalid_argument` naming the input, what came and what was expected.
 */
export function checkInputs(
  inputs: Tensors,
  specs: readonly TensorSpec[] | undefined,
  { shapes = true }: InputChecks = {},
): Tensors {
  if (specs === undefined) return inputs;
  const extra = Object.keys(inputs).find((name) => !specs.some((spec) => spec.name === name));
  if (extra !== undefined) {
    const names = specs.map((spec) => spec.name);
    const hint = unknownName("UNKNOWN_INPUT", extra, names);
    throw refuse(`The model has no input "${extra}".${meantText(hint.didYouMean)} It takes ${takes(specs)}.`, hint);
  }
  const checked = createTensors();
  for (const spec of specs) {
    const tensor = checkType(inputs[spec.name] ?? spec.default, spec, specs);
    if (shapes) checkShape(tensor, spec);
    checked[spec.name] = tensor;
  }
  return checked;
}

function checkType(tensor: Tensor | undefined, spec: TensorSpec, specs: readonly TensorSpec[]): Tensor {
  const { name: field, dtype: expected } = spec;
  if (tensor === undefined) {
    const message = `Input "${field}" is missing; the model takes ${takes(specs)}.`;
    const names = specs.map(({ name }) => name);
    throw refuse(message, missingInput(field, names));
  }
  if (tensor.dtype !== expected) {
    const message = `Input "${field}" is ${tensor.dtype}; the model takes ${expected}.`;
    throw refuse(message, { reason: "WRONG_DTYPE", field, expected });
  }
  return tensor;
}

function checkShape(tensor: Tensor, { name, shape }: TensorSpec): void {
  if (shape === undefined || fitsShape(tensor.shape, shape)) return;
  const expected = formatShape(shape);
  const message = `Input "${name}" has shape [${tensor.shape}]; the model takes ${expected}.`;
  throw refuse(message, { reason: "WRONG_SHAPE", field: name, expected });
}

function refuse(message: string, hint: ErrorHint): ServingError {
  return hintedError("invalid_argument", message, hint);
}

function takes(specs: readonly TensorSpec[]): string {
  return specs.length === 0 ? "no inputs" : formatSpecs(specs);
}
