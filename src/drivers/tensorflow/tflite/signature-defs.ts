import { failedPrecondition } from "../../../errors.ts";
import type { Signature, TensorSpec } from "../../../signature/signature.ts";
import { createTensors, type Tensors } from "../../../tensor/tensor.ts";
import { readFlexbufferMap } from "../../tflite-format/read-flexbuffer-map.ts";
import type { SignatureDef, TensorInfo } from "../saved-model/meta-graph.ts";
import { methodOf } from "../saved-model/model-signatures.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";

/** A signature that has other names for some of a model's tensors. */
export interface AliasSignature<End extends NamedEnd = TensorSpec> extends Pick<Signature, "method" | "methodName"> {
  readonly inputs: readonly Alias<End>[];
  readonly outputs: readonly Alias<End>[];
}

/** An input or output of a model. */
interface NamedEnd {
  readonly name: string;
}

/** An input or output with the name that the model has for it. */
type Alias<End extends NamedEnd> = End & { readonly modelName: string; readonly nativeName: string };

/** Inputs and outputs of a model. */
interface ModelEnds<End> {
  readonly inputs: readonly End[];
  readonly outputs: readonly End[];
}

/**
 * The signatures that a file's metadata describes, on a model with these inputs and outputs. Throws
 * `failed_precondition` for metadata that is damaged, or that names tensors which the model does not have.
 */
export function readSignatureDefs<End extends NamedEnd>(
  metadata: Uint8Array,
  model: ModelEnds<End>,
): ReadonlyMap<string, AliasSignature<End>> {
  try {
    const entries = [...readFlexbufferMap(metadata)];
    return new Map(entries.map(([name, bytes]) => [name, toAliases(parseMessage("SignatureDef", bytes), model)]));
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : String((cause as Error).message);
    throw failedPrecondition(
      `The signatures in the metadata of the .tflite model (signature_defs_metadata) cannot be read: ${reason}. Convert it again.`,
      cause,
    );
  }
}

function toAliases<End extends NamedEnd>(
  { inputs, outputs, methodName }: SignatureDef,
  model: ModelEnds<End>,
): AliasSignature<End> {
  const given = toAlias(inputs, model.inputs);
  const absent = model.inputs.find(({ name }) => !given.some(({ modelName }) => modelName === name));
  if (absent !== undefined) throw new RangeError(`they leave out the input "${absent.name}"`);
  return { inputs: given, outputs: toAlias(outputs, model.outputs), ...methodOf(methodName) };
}

function toAlias<End extends NamedEnd>(
  infos: Readonly<Record<string, TensorInfo>>,
  specs: readonly End[],
): Alias<End>[] {
  const names = Object.keys(infos).sort();
  return names.map((name) => {
    const nativeName = String(infos[name]!.encoding.value);
    const spec = specs.find((each) => withoutIndex(each.name) === withoutIndex(nativeName));
    if (spec === undefined) throw new RangeError(`they name the tensor "${nativeName}", which the model does not have`);
    return { ...spec, name, modelName: spec.name, nativeName };
  });
}

/** TensorFlow's name for the first output of a node may have its number or not. */
function withoutIndex(name: string): string {
  return name.replace(/:0$/, "");
}

/** A request's inputs by the model's names. */
export function toModelInputs({ inputs }: AliasSignature, tensors: Tensors): Tensors {
  return createTensors(inputs.map(({ name, modelName }) => [modelName, tensors[name]!]));
}

/** The model's outputs by the signature's names: those wanted, or all. */
export function fromModelOutputs(
  { outputs }: AliasSignature,
  tensors: Tensors,
  wanted: readonly string[] | undefined,
): Tensors {
  const chosen = outputs.filter(({ name }) => wanted?.includes(name) ?? true);
  return createTensors(chosen.map(({ name, modelName }) => [name, tensors[modelName]!]));
}
