import { hintedError, unknownName } from "../../error-info.ts";
import { invalidArgument } from "../../errors.ts";
import { assertName, createTensor, createTensors, type Tensors } from "../tensor.ts";
import { defaultSignatureName, type Signature, type TensorSpec } from "./signature.ts";

/** The signature that a request runs, found once. */
export interface ChosenSignature {
  readonly name: string;
  /** Undefined if a remote server does not list its signatures. */
  readonly spec: Signature | undefined;
}

/** Characters of all names of a request together: they cross threads as JSON, where one may become six. */
export const MAX_NAMES = 1024 * 1024;

/** Throws `invalid_argument` for names in a request that are too long, each or together. */
export function assertNames(...lists: readonly (readonly string[])[]): void {
  let characters = 0;
  for (const names of lists)
    for (const name of names) {
      assertName(name);
      characters += name.length;
    }
  if (characters <= MAX_NAMES) return;
  throw invalidArgument(
    `The names of inputs and outputs have ${characters} characters together; expected ${MAX_NAMES} at most. Use shorter ones.`,
  );
}

/**
 * Finds the signature of a name, the default one of an empty name; undefined for a name that is not among those known.
 * Its inputs and outputs have the runtime's own names if the request uses them. Throws as {@link assertNames}.
 */
export function chooseSignature(
  name: string,
  signatures: Readonly<Record<string, Signature>>,
  used?: UsedNames,
): ChosenSignature | undefined {
  if (used !== undefined) assertNames(used.inputs, used.outputs ?? NO_NAMES);
  const chosen = findSignature(nameByInputs(name, signatures, used) ?? name, signatures);
  if (used === undefined || chosen?.spec === undefined) return chosen;
  const spec = underUsedNames(chosen.spec, used);
  return spec === chosen.spec ? chosen : { name: chosen.name, spec };
}

/**
 * The name of a signature that is run by its inputs, if the request names none, or the default one, which does not have
 * all of its inputs; undefined = the one that it names.
 */
function nameByInputs(
  name: string,
  signatures: Readonly<Record<string, Signature>>,
  used: UsedNames | undefined,
): string | undefined {
  if (used === undefined || !isAnyByInputs(signatures)) return undefined;
  const defaultName = defaultSignatureName(signatures);
  const usual = signatures[defaultName];
  if (usual === undefined || (name !== "" && name !== defaultName)) return undefined;
  const isFor = ({ inputs = [] }: Signature) =>
    used.isUnnamedNumbers === true
      ? inputs.length === 1 && inputs[0]?.dtype !== "bytes"
      : used.inputs.every((each) => inputs.some((spec) => spec.name === each));
  if (isFor(usual)) return undefined;
  return Object.entries(signatures).find(([, each]) => each.byInputs === true && isFor(each))?.[0];
}

/** Asked for each request: it makes no objects. */
function isAnyByInputs(signatures: Readonly<Record<string, Signature>>): boolean {
  for (const name in signatures) if (signatures[name]?.byInputs === true) return true;
  return false;
}

function findSignature(name: string, signatures: Readonly<Record<string, Signature>>): ChosenSignature | undefined {
  if (name !== "" && Object.hasOwn(signatures, name)) return { name, spec: signatures[name] };
  const defaultName = defaultSignatureName(signatures);
  const spec = signatures[defaultName];
  if (spec === undefined) return { name, spec };
  return name === "" ? { name: defaultName, spec } : undefined;
}

const NO_NAMES: readonly string[] = [];

/** Names of inputs and outputs in a request. */
export interface UsedNames {
  readonly inputs: readonly string[];
  /** Absent or empty = all. */
  readonly outputs?: readonly string[] | undefined;
  /** True for numbers that stand for the only input, without its name. */
  readonly isUnnamedNumbers?: boolean | undefined;
}

/**
 * The signature with the runtime's own names if a request uses them, the same object if it uses none. Outputs
 * that a request does not name are called as its inputs are.
 */
function underUsedNames(signature: Signature, used: UsedNames): Signature {
  const { inputs: declared, outputs: all } = signature;
  const inputs = declared && underNames(declared, used.inputs);
  const native = inputs === declared ? undefined : all?.flatMap(({ nativeName }) => nativeName ?? []);
  const wanted = used.outputs?.length ? used.outputs : native;
  const outputs = all && wanted && underNames(all, wanted);
  if (inputs === declared && (outputs === undefined || outputs === all)) return signature;
  return { ...signature, ...(inputs && { inputs }), ...(outputs && { outputs }) };
}

function underNames(specs: readonly TensorSpec[], names: readonly string[]): readonly TensorSpec[] {
  const unknown = names.filter((name) => !specs.some((spec) => spec.name === name));
  const first = unknown.map((name) => specs.findIndex(({ nativeName }) => nativeName === name));
  if (!first.some((place) => place >= 0)) return specs;
  return specs.map((spec, place) => (first.includes(place) ? { ...spec, name: spec.nativeName as string } : spec));
}

/** Tensors under the names that the same inputs or outputs have in other specs. */
export function renamedTensors(tensors: Tensors, from: readonly TensorSpec[] = [], to = from): Tensors {
  if (from === to) return tensors;
  return createTensors(Object.entries(tensors).map(([name, tensor]) => [renamed(name, from, to), tensor] as const));
}

/** The name that the same input or output has in other specs. */
export function renamed(name: string, from: readonly TensorSpec[] = [], to = from): string {
  return to[from.findIndex((spec) => spec.name === name)]?.name ?? name;
}

/** Placeholder of a default, which may have many values. */
const SOME_DEFAULT = createTensor("uint8", [0], new Uint8Array(0));

/** The parts of signatures that decode a message, as plain data for another thread: no values, no labels. */
export function toPlainSignatures(
  signatures: Readonly<Record<string, Signature>>,
): Readonly<Record<string, Signature>> {
  return Object.fromEntries(Object.entries(signatures).map(([name, signature]) => [name, toPlainSignature(signature)]));
}

/** The same of one signature. */
export function toPlainSignature(signature: Signature): Signature {
  const { inputs, inputNames, suggestedInputs, modelInputs, isTabular, byInputs, outputs } = signature;
  return {
    ...(inputs && { inputs: inputs.map(toPlainSpec) }),
    ...(inputNames && { inputNames: [...inputNames] }),
    ...(suggestedInputs && { suggestedInputs: suggestedInputs.map((spec) => ({ ...spec })) }),
    ...(modelInputs && { modelInputs: modelInputs.map(toPlainSpec) }),
    ...(isTabular && { isTabular }),
    ...(byInputs && { byInputs }),
    ...(outputs && { outputs: outputs.map(toPlainSpec) }),
  };
}

function toPlainSpec({ name, dtype, shape, nativeName, default: value }: TensorSpec): TensorSpec {
  const names = { name, ...(nativeName !== undefined && { nativeName }) };
  return { ...names, dtype, ...(shape && { shape: [...shape] }), ...(value && { default: SOME_DEFAULT }) };
}

/**
 * Throws `invalid_argument`, with TensorFlow Serving's text, for a wanted output that is not among the known ones;
 * without known ones, any is accepted.
 */
export function assertOutputs(
  wanted: readonly string[] | undefined,
  known: readonly { readonly name: string }[] | undefined,
): void {
  const unknown = wanted?.find((name) => known?.every((output) => output.name !== name));
  if (unknown === undefined) return;
  const names = (known ?? []).map(({ name }) => name).sort();
  throw hintedError(
    "invalid_argument",
    `output tensor alias not found in signature: ${unknown} Outputs expected to be in the set {${names}}.`,
    unknownName("UNKNOWN_OUTPUT", unknown, names),
  );
}
