import { invalidArgument, type ServingError } from "../../../errors.ts";
import { defineJob } from "../../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../../platform/limits/memory/decode-budget.ts";
import { type DType, integerRange, type NumericDType, numericLayout } from "../../../tensor/dtype.ts";
import { floatWriter } from "../../../tensor/float16.ts";
import { type Signature, type TensorSpec, toSize } from "../../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";
import { type Feature, type Features, readFeatures } from "./features.ts";

/** Names by which TensorFlow's exporters call the one input that takes serialised tf.Examples. */
const SERIALIZED_INPUTS = ["inputs", "examples"];

/** The input that takes serialised tf.Examples; undefined for a signature whose inputs are features. */
export function serializedInput({ inputs }: Signature): string | undefined {
  const [only, second] = inputs ?? [];
  const isOne = only !== undefined && second === undefined && only.dtype === "bytes";
  return isOne && SERIALIZED_INPUTS.includes(only.name) && (only.shape?.length ?? 1) === 1 ? only.name : undefined;
}

/**
 * The inputs of a model that knows no tf.Example, made of the features of those names: a row for each example. Of a
 * model that does not tell its inputs every feature of the first example is one. `maxBytes` limits the memory of the
 * result. Throws `invalid_argument` naming a feature that is missing, or whose values do not fit.
 */
export function featureInputs(examples: Tensor<"bytes">, { inputs }: Signature, maxBytes: number): Tensors {
  const budget = new DecodeBudget(maxBytes);
  const rows = examples.data.map((example) => readFeatures(example, budget));
  const specs = inputs ?? Array.from(rows[0] ?? [], ([name, { kind }]) => ({ name, dtype: LOOSE_DTYPES[kind] }));
  return createTensors(specs.flatMap((spec) => toInput(rows, spec, budget)));
}

/** {@link featureInputs} for a codec thread. */
export const featureInputsJob = defineJob(import.meta.url, "featureInputsJob", featureInputs);

const LOOSE_DTYPES: Readonly<Record<Feature["kind"], DType>> = { bytes: "bytes", float: "float32", int64: "int64" };
/** Bytes of an element of the tensor, at most. */
const MAX_ELEMENT_BYTES = 8;

function toInput(rows: readonly Features[], spec: TensorSpec, budget: DecodeBudget): [string, Tensor][] {
  if (spec.default !== undefined && !rows.some((row) => row.has(spec.name))) return [];
  const columns = rows.map((row, index) => valuesOf(row, spec, index));
  const [first] = columns;
  const width = first?.length ?? 0;
  const uneven = columns.findIndex(({ length }) => length !== width);
  if (uneven > 0) {
    const came = `example ${uneven} has ${columns[uneven]?.length} values, example 0 has ${width}`;
    throw refused(spec, `${came}; expected as many in each`);
  }
  budget.spend(rows.length * width * MAX_ELEMENT_BYTES, () => `The input ${spec.name}`);
  return [[spec.name, createTensor(spec.dtype, shapeOf(spec, rows.length, width), toData(columns, spec) as never)]];
}

type Values = Feature["values"];

function valuesOf(row: Features, spec: TensorSpec, index: number): Values {
  const feature = row.get(spec.name);
  if (feature === undefined || feature.values.length === 0) {
    const known = [...row.keys()].join(", ");
    throw refused(spec, `example ${index} has no values of that name; it has ${known === "" ? "no features" : known}`);
  }
  if (!takes(spec.dtype, feature.kind)) {
    throw refused(spec, `example ${index} has values of type ${feature.kind}, which do not become ${spec.dtype}`);
  }
  return feature.values;
}

/** JSON does not distinguish 1 from 1.0, so float features accept integers. */
function takes(dtype: DType, kind: Feature["kind"]): boolean {
  if (dtype === "bytes") return kind === "bytes";
  if (kind === "bytes" || dtype.startsWith("complex")) return false;
  return kind === "int64" || isFloat(dtype);
}

function isFloat(dtype: DType): boolean {
  return integerRange(dtype) === undefined && dtype !== "bool";
}

/** The model's dimensions after the first, with the one open size that the values decide. */
function shapeOf(spec: TensorSpec, rows: number, width: number): readonly number[] {
  if (spec.shape === undefined) return width === 1 ? [rows] : [rows, width];
  const sizes = spec.shape.slice(1).map(toSize);
  const known = sizes.reduce((product, size) => (size < 0 ? product : product * size), 1);
  const open = sizes.filter((size) => size < 0).length;
  const left = width / known;
  const fits = open === 0 ? width === known : open === 1 && Number.isInteger(left);
  if (!fits) {
    const expected = open > 1 ? "one open size after the first at most" : `values for the shape [${sizes}] of a row`;
    throw refused(spec, `an example has ${width} values; expected ${expected}`);
  }
  return [rows, ...sizes.map((size) => (size < 0 ? left : size))];
}

function toData(columns: readonly Values[], spec: TensorSpec): unknown {
  const { dtype } = spec;
  if (dtype === "bytes") return columns.flat();
  const target = new (numericLayout(dtype as NumericDType).array)(columns.length * (columns[0]?.length ?? 0));
  const convert = converterOf(spec);
  let at = 0;
  for (const values of columns)
    for (const value of values as readonly (number | bigint)[]) target[at++] = convert(value);
  return target;
}

function converterOf(spec: TensorSpec): (value: number | bigint) => number | bigint {
  const { dtype } = spec;
  if (dtype === "bool") return (value) => (Number(value) === 0 ? 0 : 1);
  const range = integerRange(dtype);
  if (range === undefined) return floatConverter(spec);
  const isWide = dtype === "int64" || dtype === "uint64";
  return (value) => {
    if (value < range[0] || value >= range[1]) throw refused(spec, `${value} is not a ${dtype}`);
    return isWide ? BigInt(value) : Number(value);
  };
}

function floatConverter(spec: TensorSpec): (value: number | bigint) => number {
  const write = floatWriter(spec.dtype);
  return (value) => {
    const element = write(Number(value));
    if (element === undefined) throw refused(spec, `${value} is not a ${spec.dtype}`);
    return element;
  };
}

function refused({ name, dtype }: TensorSpec, why: string): ServingError {
  return invalidArgument(`Feature: ${name} (data type: ${dtype}) cannot be read: ${why}.`);
}
