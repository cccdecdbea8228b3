import type { DType, TensorData } from "../tensor/dtype.ts";
import type { Values } from "../tensor/plain-value.ts";
import type { Tensor, Tensors } from "../tensor/tensor.ts";
import type { Files } from "./read-files.ts";

/** Inputs and outputs of one model; `kserving client` writes them. */
export interface TypedModel {
  readonly inputs: object;
  readonly outputs: object;
}

/** A model of which nothing is known: any inputs, and tensors as outputs. */
export interface AnyModel {
  readonly inputs: { readonly [name: string]: Values[string] | Files };
  readonly outputs: Tensors;
}

/** Sizes of a tensor, -1 = any; `number[]` = any rank. */
type Sizes = readonly number[];

/**
 * Values of an input: nested numbers of its rank, a typed array or a tensor of its
 * dtype, and files if it takes images or bytes.
 */
export type In<D extends DType = DType, S extends Sizes = number[]> =
  | Nested<Scalar<D>, S>
  | Tensor<D>
  | TypedArray<D>
  | FilesOf<D, S>;

/** An output: a tensor of its dtype, whose shape has its rank. */
export type Out<D extends DType = DType, S extends Sizes = number[]> = Tensor<D> & { readonly shape: ShapeOf<S> };

type Scalar<D extends DType> = D extends "bool"
  ? boolean
  : D extends "bytes"
    ? string
    : D extends "int64" | "uint64"
      ? number | bigint
      : number;

/** Lists as deep as the rank. */
type Nested<T, S extends Sizes> = number extends S["length"]
  ? AnyDepth<T>
  : S extends readonly [number, ...infer Rest extends Sizes]
    ? readonly Nested<T, Rest>[]
    : T;

type AnyDepth<T> = T | readonly AnyDepth<T>[];

/** Typed arrays say of themselves which dtype they are, but those of half floats and booleans. */
type TypedArray<D extends DType> = D extends "bool" | "float16" | "bfloat16" | "complex64" | "complex128" | "bytes"
  ? never
  : TensorData<D>;

/** Numbers of rank 4 may be images. */
type FilesOf<D extends DType, S extends Sizes> = D extends "bytes"
  ? Files
  : number extends S["length"]
    ? Files
    : S["length"] extends 4
      ? Files
      : never;

type ShapeOf<S extends Sizes> = { readonly [I in keyof S]: S[I] extends -1 ? number : S[I] };
