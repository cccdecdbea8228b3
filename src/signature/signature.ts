import type { DType } from "../tensor/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";

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
  /** The inputs' names, where their dtypes are not known; absent where `inputs` has them, or they are unknown too. */
  readonly inputNames?: readonly string[];
  /**
   * Inputs that clients may send where any names and dtypes are taken; information for people and metadata, which
   * nothing is compared with.
   */
  readonly suggestedInputs?: readonly LooseSpec[];
  /** True where inputs are rows of features, or columns: texts beside numbers, of which some may be missing. */
  readonly isTabular?: true;
  /** Absent = not known before a request. */
  readonly outputs?: readonly TensorSpec[];
  /** The API of TensorFlow Serving that the exporter meant it for; absent = predict. */
  readonly method?: "predict" | "classify" | "regress";
  /** The method name in the model's file, where it means none of these APIs; may be empty. */
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
   * The runtime's own name, where that is another, which requests may use: `serving_default_x:0` of a TensorFlow graph.
   */
  readonly nativeName?: string;
  /** The dtype in the model's file, where its graph takes another one; for clients that ask for the declaration. */
  readonly declaredDType?: DType;
  /** Layout of an input's images; set by a driver only where one of its own options determines it. */
  readonly imageLayout?: "NHWC" | "NCHW";
  /** True where hooks stand between a client's image and what would decode it; the server sets it. */
  readonly refusesImages?: true;
  /** True where numbers of other dtypes are converted to the input's; the server sets it. */
  readonly convertsNumbers?: true;
  /** Names of an output's classes, by index. */
  readonly labels?: readonly string[];
  /** Names of the features in an input's rows, by column. */
  readonly features?: readonly string[];
}

/** The known facts about an input or output. */
export interface LooseSpec extends Pick<TensorSpec, "name" | "shape" | "features"> {
  readonly dtype?: DType;
}

/** One dimension of a {@link TensorSpec}. */
export type Dimension = number | { readonly min: number; readonly max: number };
