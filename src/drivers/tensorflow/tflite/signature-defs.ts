import { failedPrecondition } from "../../../errors.ts";
import type { Signature, TensorSpec } from "../../../tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../../tensor/tensor.ts";
import type { SignatureDef, TensorInfo } from "../saved-model/graph-def.ts";
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

/** Types of https://flatbuffers.dev/flexbuffers: their numbers, shifted by the two bits of their children's width. */
const FLEX_TYPE = { string: 5, map: 9 } as const;

/** No signature has a longer name. */
const MAX_KEY_BYTES = 4096;
/** Texts may be shared, as equal signatures are; all together may be this many times longer than the bytes. */
const MAX_SHARING = 16;

/**
 * The texts and byte strings of a FlexBuffer whose root is a map, by their keys; values of other types are left out.
 * Throws RangeError for bytes in another form, and for offsets beyond their end.
 */
export function readFlexbufferMap(bytes: Uint8Array): Map<string, Uint8Array> {
  const reader = new FlexReader(bytes);
  const end = bytes.length - 2;
  const { kind, width } = typeAt(reader.uint(end, 1));
  if (kind !== FLEX_TYPE.map) throw new RangeError("its root is not a map");
  return reader.map(reader.follow(end - reader.uint(end + 1, 1), reader.uint(end + 1, 1)), width);
}

function typeAt(packed: number): { readonly kind: number; readonly width: number } {
  return { kind: packed >>> 2, width: 1 << (packed & 3) };
}

class FlexReader {
  readonly #bytes: Uint8Array;
  #textBytes = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** An unsigned number of so many bytes. */
  uint(at: number, width: number): number {
    if (at < 0 || at + width > this.#bytes.length)
      throw new RangeError(`it refers to byte ${at} of ${this.#bytes.length}`);
    let value = 0;
    for (let index = width - 1; index >= 0; index--) value = value * 256 + this.#bytes[at + index]!;
    return value;
  }

  /** The place that an offset leads back to. */
  follow(at: number, width: number): number {
    return at - this.uint(at, width);
  }

  /** Before the values of a map stand the place and width of its keys and the number of both, behind them the types. */
  map(values: number, width: number): Map<string, Uint8Array> {
    const count = this.uint(values - width, width);
    const keyWidth = this.uint(values - 2 * width, width);
    const keys = this.follow(values - 3 * width, width);
    if (count > this.#bytes.length) throw new RangeError(`it claims ${count} entries`);
    const found = new Map<string, Uint8Array>();
    for (let index = 0; index < count; index++) {
      const { kind, width: own } = typeAt(this.uint(values + count * width + index, 1));
      if (kind !== FLEX_TYPE.string) continue;
      found.set(
        this.#key(keys + index * keyWidth, keyWidth),
        this.#string(this.follow(values + index * width, width), own),
      );
    }
    return found;
  }

  #key(at: number, width: number): string {
    const start = this.follow(at, width);
    const key = this.#bytes.subarray(Math.max(0, start), start + MAX_KEY_BYTES);
    const end = key.indexOf(0);
    if (start < 0 || end === -1) throw new RangeError("a key has no end");
    return Buffer.from(key.subarray(0, end)).toString();
  }

  #string(start: number, width: number): Uint8Array {
    const length = this.uint(start - width, width);
    if (start + length > this.#bytes.length) throw new RangeError("a text has no end");
    this.#textBytes += length;
    if (this.#textBytes > MAX_SHARING * this.#bytes.length) throw new RangeError("its texts are shared too often");
    return this.#bytes.subarray(start, start + length);
  }
}
