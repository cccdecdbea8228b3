import type { DType } from "../../tensor/dtype.ts";

/** An input or output in the types of a model. */
export interface TypedTensor {
  readonly name: string;
  /** Absent = any. */
  readonly dtype?: DType | undefined;
  /** -1 = any size; absent = any rank. */
  readonly shape?: readonly number[] | undefined;
  /** True where a request may leave it out. */
  readonly isOptional?: boolean;
}

/** A model whose types are written; absent = any. */
export interface DescribedModel {
  readonly inputs?: readonly TypedTensor[] | undefined;
  readonly outputs?: readonly TypedTensor[] | undefined;
}
