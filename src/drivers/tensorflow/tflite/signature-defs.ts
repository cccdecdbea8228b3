import { failedPrecondition } from "../../../errors.ts";
import type { Signature, TensorSpec } from "../../../signature/signature.ts";
import { createTensors, type Tensors } from "../../../tensor/tensor.ts";
import { readFlexbufferMap } from "../../tflite-format/read-flexbuffer-map.ts";
import type { SignatureDef, TensorInfo } from "../saved-model/meta-graph.ts";
import { methodOf } from "../saved-model/model-signatures.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";
import type { FullSignature } from "./litert-model.ts";

/** Name of the metadata in which TensorFlow Serving's tools keep a SavedModel's signatures, by name. */
export const SIGNATURE_DEFS = "signature_defs_metadata";

/** A signature that has other names for some of a model's tensors. */
export interface AliasSignature extends FullSignature, Pick<Signature, "method" | "methodName"> {
  readonly inputs: readonly Alias[];
  readonly outputs: readonly Alias[];
}

/** An input or output with the name that the model has for it. */
interface Alias extends TensorSpec {
  readonly modelName: string;
}

/**
 * The signatures that a file's metadata describes, on a model with these inputs and outputs. Throws
 * `failed_precondition` for metadata that is damaged, or that names tensors which the model does not have.
 */
export function readSignatureDefs(metadata: Uint8Array, model: FullSignature): ReadonlyMap<string, AliasSignature> {
  try {
    const entries = [...readFlexbufferMap(metadata)];
    return new Map(entries.map(([name, bytes]) => [name, toAliases(parseMessage("SignatureDef", bytes), model)]));
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : String((cause as Error).message);
    throw failedPrecondition(
      `The signatures in the metadata of the .tflite model (${SIGNATURE_DEFS}) cannot be read: ${reason}. Convert it again.`,
      cause,
    );
  }
}

function toAliases({ inputs, outputs, methodName }: SignatureDef, model: FullSignature): AliasSignature {
  const given = toAlias(inputs, model.inputs);
  const absent = model.inputs.find(({ name }) => !given.some(({ modelName }) => modelName === name));
  if (absent !== undefined) throw new RangeError(`they leave out the input "${absent.name}"`);
  return { inputs: given, outputs: toAlias(outputs, model.outputs), ...methodOf(methodName) };
}

function toAlias(infos: Readonly<Record<string, TensorInfo>>, specs: readonly TensorSpec[]): Alias[] {
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
