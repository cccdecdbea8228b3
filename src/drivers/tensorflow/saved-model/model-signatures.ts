import { failedPrecondition } from "../../../errors.ts";
import { didYouMean } from "../../../platform/text/nearest.ts";
import { createRecord } from "../../../tensor/record.ts";
import {
  DEFAULT_SIGNATURE,
  type Signature,
  type TensorSpec,
  type UnservedSignature,
  type UnservedTensor,
} from "../../../tensor/signature/signature.ts";
import { dataTypeName, toDType, withoutReference } from "./data-type.ts";
import type { MetaGraphDef, SignatureDef, TensorInfo, TensorProto } from "./graph-def.ts";
import { fromTensorProto, fromTensorShape } from "./tensor-proto.ts";

/** A signature of a TensorFlow model: ours, with what the graph calls its tensors. */
export interface ModelSignature extends Signature {
  readonly inputs: readonly BoundTensor[];
  readonly outputs: readonly BoundTensor[];
}

/** An input or output, and the tensor of the graph that it stands for. */
export interface BoundTensor extends TensorSpec {
  /** `node:output`. */
  readonly nativeName: string;
  /** TensorFlow's number of the type. */
  readonly dataType: number;
}

/** The signatures of a model that can be served. */
export interface ModelSignatures {
  /** By name; {@link DEFAULT_SIGNATURE} is the one that requests without a signature name get. */
  readonly served: Readonly<Record<string, ModelSignature>>;
  /** By name: why one cannot be served. */
  readonly refused: ReadonlyMap<string, string>;
  /** By name: these, and those that only loading needs. */
  readonly unserved: Readonly<Record<string, UnservedSignature>>;
}

const METHODS: Readonly<Record<string, ModelSignature["method"]>> = {
  "tensorflow/serving/predict": "predict",
  "tensorflow/serving/classify": "classify",
  "tensorflow/serving/regress": "regress",
};

/** The API that a SignatureDef's method name means, else the name itself. */
export function methodOf(methodName: string): Pick<Signature, "method" | "methodName"> {
  const method = Object.hasOwn(METHODS, methodName) ? METHODS[methodName] : undefined;
  return method === undefined ? { methodName } : { method };
}

/** Signatures that loading needs, and that clients do not call. */
const INTERNAL = /^__saved_model_(init|train)_op$/;

/**
 * The signatures of a graph, sorted by name, as their inputs and outputs are: TensorFlow gives them in another order
 * each time. `defaultName` is the one that requests without a name get. Throws `failed_precondition` when that one does
 * not exist (listing what does) or cannot be served (saying why).
 */
export function toModelSignatures(meta: MetaGraphDef, defaultName: string): ModelSignatures {
  const served = createRecord<ModelSignature>();
  const unserved = createRecord<UnservedSignature>();
  const refusals = new Map<string, string>();
  for (const name of Object.keys(meta.signatureDef).toSorted()) {
    const definition = meta.signatureDef[name]!;
    const isInternal = INTERNAL.test(name);
    const problem = isInternal ? undefined : findProblem(definition);
    if (isInternal || problem !== undefined) unserved[name] = toUnserved(definition);
    else served[name] = toModelSignature(definition);
    if (problem !== undefined) refusals.set(name, problem);
  }
  const chosen = chooseDefault(served, refusals, defaultName);
  if (chosen !== undefined) served[DEFAULT_SIGNATURE] = chosen;
  return { served, refused: refusals, unserved };
}

/**
 * The usual name may be missing: the only signature stands in for it, and of several, requests name theirs. A name that
 * was asked for must exist.
 */
function chooseDefault(
  served: Readonly<Record<string, ModelSignature>>,
  refusals: ReadonlyMap<string, string>,
  name: string,
): ModelSignature | undefined {
  const found = served[name];
  if (found !== undefined) return found;
  const names = Object.keys(served);
  const problem = refusals.get(name);
  if (problem !== undefined) throw failedPrecondition(`The signature "${name}" cannot be served: ${problem}.`);
  if (name === DEFAULT_SIGNATURE && names.length > 0) return names.length === 1 ? served[names[0]!] : undefined;
  const list = names.length === 0 ? "none that can be served" : names.join(", ");
  throw failedPrecondition(`The model has no signature "${name}"; it has: ${list}.${didYouMean(name, names)}`);
}

function findProblem({ inputs, outputs }: SignatureDef): string | undefined {
  for (const [kind, tensors] of Object.entries({ input: inputs, output: outputs })) {
    for (const [name, { encoding, dtype }] of Object.entries(tensors)) {
      if (encoding.case !== "name") return `${kind} "${name}" is a sparse or composite tensor`;
      if (toDType(dtype) === undefined) return `${kind} "${name}" is of type ${dataTypeName(dtype)}`;
    }
  }
  return undefined;
}

function toModelSignature({ inputs, outputs, methodName, defaults }: SignatureDef): ModelSignature {
  return {
    inputs: toBoundTensors(inputs, defaults),
    outputs: toBoundTensors(outputs, {}),
    ...methodOf(methodName),
  };
}

function toUnserved({ inputs, outputs, methodName }: SignatureDef): UnservedSignature {
  const toTensors = (infos: SignatureDef["inputs"]) =>
    Object.entries(infos).map(([name, info]) => toUnservedTensor(name, info));
  return { inputs: toTensors(inputs), outputs: toTensors(outputs), methodName };
}

function toUnservedTensor(name: string, { dtype: dataType, tensorShape, encoding }: TensorInfo): UnservedTensor {
  const shape = tensorShape && fromTensorShape(tensorShape);
  return { name, dataType, nativeName: encoding.case === "name" ? encoding.value : "", ...(shape && { shape }) };
}

function toBoundTensors(
  infos: Readonly<Record<string, TensorInfo>>,
  defaults: Readonly<Record<string, TensorProto>>,
): BoundTensor[] {
  const names = Object.keys(infos).sort();
  return names.map((name) => toBoundTensor(name, infos[name]!, defaults[name]));
}

function toBoundTensor(name: string, info: TensorInfo, value: TensorProto | undefined): BoundTensor {
  const { dtype: dataType, tensorShape, encoding } = info;
  // A constant without a shape is a scalar; an input or output without one is of any rank.
  const shape = tensorShape && fromTensorShape(tensorShape);
  return {
    name,
    dtype: toDType(dataType) as TensorSpec["dtype"],
    ...(shape && { shape }),
    ...(value && { default: fromTensorProto(value, `the default of input "${name}"`) }),
    nativeName: encoding.value as string,
    dataType,
  };
}

/** TensorFlow's number of the type that a graph gives a tensor; undefined if it does not say. */
export type TypeOfTensor = (nativeName: string) => number | undefined;

/**
 * Signatures whose inputs have the types of the graph. An exporter may declare another one, which nothing checks:
 * TensorFlow Serving's own test model half_plus_three declares floats for serialised tf.Examples.
 */
export function withGraphTypes(
  signatures: Readonly<Record<string, ModelSignature>>,
  typeOf: TypeOfTensor,
): Readonly<Record<string, ModelSignature>> {
  const corrected = Object.entries(signatures).map(([name, signature]) => {
    const inputs = signature.inputs.map((input) => withGraphType(input, typeOf(input.nativeName)));
    return [name, { ...signature, inputs }] as const;
  });
  return Object.fromEntries(corrected);
}

function withGraphType(input: BoundTensor, type: number | undefined): BoundTensor {
  const dataType = type === undefined ? undefined : withoutReference(type);
  const dtype = dataType === undefined ? undefined : toDType(dataType);
  if (dataType === undefined || dtype === undefined || dtype === input.dtype) return input;
  return { ...input, dtype, dataType, declaredDType: input.dtype };
}
