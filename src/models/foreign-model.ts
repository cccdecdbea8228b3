import type { Model, PartsModel } from "../drivers/driver.ts";
import { failedPrecondition, publicText, ServingError } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { isDType } from "../tensor/dtype.ts";
import { isObject } from "../tensor/record.ts";
import { assertCarriable, createTensor, type Tensor, type Tensors } from "../tensor/tensor.ts";
import { type DeclaredOutputs, outputMismatch } from "./check-outputs.ts";

/** A model of a user's own driver, as messages name it. */
export interface ForeignModel {
  readonly driver: string;
  readonly model: string;
}

/** Checks what a user's driver gave for its model; throws `failed_precondition`. */
export function assertModel(value: unknown, driver: string): asserts value is Model | PartsModel {
  const expected = "expected { signatures: { serving_default: { inputs, outputs } }, predict, close }";
  const wrong = (what: string) => failedPrecondition(`load of the driver ${driver} returned ${what}; ${expected}.`);
  if (!isObject(value)) throw wrong(kindOf(value));
  if (!isObject(value.signatures)) throw wrong(`an object whose signatures are ${kindOf(value.signatures)}`);
  const { predict, predictStream } = value;
  const isParted = predictStream !== undefined;
  for (const name of ["predict", "predictStream", "close"]) {
    const isLeftOut =
      (name === "predict" && isParted && predict === undefined) || (name === "predictStream" && !isParted);
    if (!isLeftOut && typeof value[name] !== "function")
      throw wrong(`an object whose ${name} is ${kindOf(value[name])}`);
  }
}

/** The signature of a run, and the number of its part. */
interface ForeignRun extends Pick<DeclaredOutputs, "needed"> {
  /** Absent = the driver does not say. */
  readonly declared?: DeclaredOutputs["declared"] | undefined;
  /** Absent = the whole answer. */
  readonly part?: number;
}

/**
 * Checks what predict of a user's driver returned, or yielded as a part with a number, before it leaves the driver's
 * thread: tensors, with the names, dtypes and shapes of the outputs that its signature declares. Throws `internal`.
 */
export function checkOutputs(value: unknown, { driver, model }: ForeignModel, run: ForeignRun): Tensors {
  const { part, declared } = run;
  const what = problemOf(value);
  if (what === undefined) {
    const tensors = value as Tensors;
    const mismatch = declared && outputMismatch(tensors, { needed: part === undefined ? run.needed : [], declared });
    if (mismatch === undefined) return tensors;
    const at = part === undefined ? "" : ` in part ${part},`;
    throw new ServingError("internal", `The driver ${driver}, of the model ${model},${at} ${mismatch}.`);
  }
  const expected = 'expected { NAME: createTensor("float32", [2], Float32Array.of(1, 2)) }, a tensor for each output';
  const [call, came] = part === undefined ? ["predict", "returned"] : ["predictStream", `yielded as part ${part}`];
  throw new ServingError(
    "internal",
    `${call} of the driver ${driver}, of the model ${model}, ${came} ${what}; ${expected}.`,
  );
}

/** Checks what predictStream of a user's driver returned; throws `internal`. */
export function checkParts<Parts>(value: AsyncIterable<Parts>, { driver, model }: ForeignModel): AsyncIterable<Parts> {
  const given: unknown = value;
  if (isObject(given) && typeof given[Symbol.asyncIterator as never] === "function") return value;
  throw new ServingError(
    "internal",
    `predictStream of the driver ${driver}, of the model ${model}, returned ${kindOf(given)}; expected a generator: async *predictStream(inputs, call) { yield { NAME: tensor }; }.`,
  );
}

function problemOf(value: unknown): string | undefined {
  if (!isObject(value)) return kindOf(value);
  for (const name in value) {
    const problem = problemOfTensor(value[name], name);
    if (problem !== undefined) return `for the output "${name.slice(0, 100)}" ${problem}`;
  }
  return undefined;
}

function problemOfTensor(value: unknown, name: string): string | undefined {
  if (!isObject(value)) return kindOf(value);
  const { dtype, shape, data } = value as Partial<Tensor>;
  if (typeof dtype !== "string" || !isDType(dtype))
    return `an object whose dtype is ${JSON.stringify(dtype)?.slice(0, 50)}`;
  if (!Array.isArray(shape)) return `an object whose shape is ${kindOf(shape)}`;
  try {
    assertCarriable(shape, name);
    createTensor(dtype, shape, data as never);
    return undefined;
  } catch (reason) {
    return `what is no tensor: ${publicText(reason).replace(/\.$/, "")}`;
  }
}
