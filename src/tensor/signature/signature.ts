import type { DType } from "../dtype.ts";
import type { Tensor } from "../tensor.ts";

/** The signature that a request without a signature name gets. */
export const DEFAULT_SIGNATURE = "serving_default";

/** The name of the signature that a request without one gets: {@link DEFAULT_SIGNATURE}, else the first. */
export function defaultSignatureName(signatures: Readonly<Record<string, unknown>>): string {
  if (Object.hasOwn(signatures, DEFAULT_SIGNATURE)) return DEFAULT_SIGNATURE;
  return Object.keys(signatures)[0] ?? DEFAULT_SIGNATURE;
}

/** Inputs and outputs of a model, or of a whole pipeline. */
export interface Signature {
  /** Absent = any names and dtypes. */
  readonly inputs?: readonly TensorSpec[];
  /** The inputs' names, if their dtypes are not known; absent if `inputs` has them, or they are unknown too. */
  readonly inputNames?: readonly string[];
  /**
   * Inputs that clients may send if any names and dtypes are taken; information for people and metadata, which
   * nothing is compared with.
   */
  readonly suggestedInputs?: readonly LooseSpec[];
  /**
   * Inputs of the model behind hooks that declare none: values that come without a type, as in JSON, get its dtype if
   * it holds them, so that hooks may pass them on.
   */
  readonly modelInputs?: readonly TensorSpec[];
  /** True if inputs are rows of features, or columns: texts beside numbers, of which some may be missing. */
  readonly isTabular?: true;
  /** Absent = not known before a request. */
  readonly outputs?: readonly TensorSpec[];
  /** True if requests that name no signature, and have its inputs alone, run it in place of the default one. */
  readonly byInputs?: true;
  /** The API of TensorFlow Serving that the exporter meant it for; absent = predict. */
  readonly method?: "predict" | "classify" | "regress";
  /** The method name in the model's file, if it means none of these APIs; may be empty. */
  readonly methodName?: string;
}

/** A signature in a model's file that requests cannot run, for clients that ask what the file has. */
export interface UnservedSignature {
  readonly inputs: readonly UnservedTensor[];
  readonly outputs: readonly UnservedTensor[];
  readonly methodName: string;
}

/** An input or output of such a signature. */
export interface UnservedTensor extends Pick<TensorSpec, "name" | "shape" | "nativeName"> {
  /** TensorFlow's number of its type, which may have no dtype. */
  readonly dataType: number;
}

/** One input or output. */
export interface TensorSpec {
  readonly name: string;
  readonly dtype: DType;
  /** -1 = any size; a range bounds it; absent shape = any rank. */
  readonly shape?: readonly Dimension[];
  /** Used when a request leaves the input out. */
  readonly default?: Tensor;
  /**
   * The runtime's own name, if that is another, which requests may use: `serving_default_x:0` of a TensorFlow graph.
   */
  readonly nativeName?: string;
  /** The dtype in the model's file, if its graph takes another one; for clients that ask for the declaration. */
  readonly declaredDType?: DType;
  /** Layout of an input's images; set by a driver only if one of its own options determines it. */
  readonly imageLayout?: "NHWC" | "NCHW";
  /** True if hooks stand between a client's image and what would decode it; the server sets it. */
  readonly refusesImages?: true;
  /** True if numbers of other dtypes are converted to the input's; the server sets it. */
  readonly convertsNumbers?: true;
  /** Names of an output's classes, by index. */
  readonly labels?: readonly string[];
  /** Names of the features in an input's rows, by column. */
  readonly features?: readonly string[];
  /** Values that an input's elements have, as far as the model knows them: texts, or numbers. */
  readonly categories?: readonly (string | number)[];
  /** A value of an element, from the example that was saved with the model. */
  readonly example?: string | number;
}

/** The known facts about an input or output. */
export interface LooseSpec extends Pick<TensorSpec, "name" | "shape" | "features" | "categories" | "example"> {
  readonly dtype?: DType;
  /** True if the dtype is assumed: the model tells nothing of the values, which may be texts. */
  readonly isAssumed?: boolean;
}

/** One dimension of a {@link TensorSpec}. */
export type Dimension = number | { readonly min: number; readonly max: number };

/** An input of which at least the name is known. */
export type KnownInput = LooseSpec & Partial<TensorSpec>;

/**
 * The inputs of a signature as far as they are known, for people: as they are checked, as clients may send them, or
 * their names alone; undefined = any.
 */
export function knownInputs({ inputs, suggestedInputs, inputNames }: Signature): readonly KnownInput[] | undefined {
  return inputs ?? suggestedInputs ?? inputNames?.map((name) => ({ name }));
}

/** The dtype that values of an undeclared input get if it holds them; undefined = any. */
export function likelyDType({ modelInputs }: Signature, name: string): DType | undefined {
  return modelInputs?.find((spec) => spec.name === name)?.dtype;
}

/** A dimension if there is no form for ranges: -1 for any size, also within a range. */
export function toSize(dimension: Dimension): number {
  return typeof dimension === "number" ? dimension : -1;
}

/** Checks that a tensor's shape is one that a spec's shape allows. */
export function fitsShape(shape: readonly number[], allowed: readonly Dimension[]): boolean {
  return shape.length === allowed.length && allowed.every((size, axis) => fitsDimension(shape[axis]!, size));
}

/** Checks that a size is one that a spec's dimension allows. */
export function fitsDimension(size: number, allowed: Dimension): boolean {
  if (typeof allowed === "number") return allowed === -1 || size === allowed;
  return size >= allowed.min && size <= allowed.max;
}

/** `[-1,3]`; a range is `2..8`, an unknown rank `[...]`. */
export function formatShape(shape: readonly Dimension[] | undefined): string {
  if (shape === undefined) return "[...]";
  return `[${shape.map((dimension) => (typeof dimension === "number" ? dimension : `${dimension.min}..${dimension.max}`))}]`;
}

/** `x float32[-1,3], y int64[]`, for messages and tables. */
export function formatSpecs(specs: readonly TensorSpec[]): string {
  return specs.map((spec) => `${spec.name} ${spec.dtype}${formatShape(spec.shape)}`).join(", ");
}

/**
 * Checks if an input takes encoded images in addition to tensors: one of numbers of rank 4 does, and the model's edge
 * decodes them, but if hooks take them first.
 */
export function takesImages({ dtype, shape, refusesImages }: Omit<TensorSpec, "name">): boolean {
  return dtype !== "bytes" && shape?.length === 4 && refusesImages !== true;
}

/**
 * Checks that elements of one dtype can become elements of another: both are numbers, or true and false, none is
 * complex.
 */
export function isConvertible(from: DType, to: DType): boolean {
  return isReal(from) && isReal(to);
}

function isReal(dtype: DType): boolean {
  return dtype !== "bytes" && !dtype.startsWith("complex");
}

/** Notes of an exporter about a model: texts by name, or trees of them. */
export interface ModelNotes {
  readonly [name: string]: string | ModelNotes;
}
