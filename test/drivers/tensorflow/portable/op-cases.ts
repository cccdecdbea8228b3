import type { JsonValue } from "@bufbuild/protobuf";
import type { DType } from "../../../../src/tensor/dtype.ts";
import { elementCount, type Tensor } from "../../../../src/tensor/tensor.ts";
import type { Random } from "../../../grpc/random.ts";
import { tensorOf, type } from "./graph-writer.ts";

/** One operation with values for its inputs. */
export interface OpCase {
  readonly op: string;
  readonly attr: Readonly<Record<string, JsonValue>>;
  readonly inputs: readonly Tensor[];
  /** Number of outputs that are compared; default 1. */
  readonly outputs?: number;
}

/** Makes cases of an operation in one dtype. */
type CaseMaker = (random: Random, dtype: DType) => Omit<OpCase, "op">;

/** An operation, the dtypes that it is tried in, and how. */
export interface OpTrial {
  readonly dtypes: readonly DType[];
  readonly make: CaseMaker;
}

/** Trials by operation. */
export type OpTrials = Readonly<Record<string, OpTrial>>;

export const FLOATS: readonly DType[] = ["float32", "float64"];
export const NUMBERS: readonly DType[] = ["float32", "float64", "int32", "int64", "uint8", "int8", "int16", "uint16"];
export const ANY: readonly DType[] = ["float32", "int32", "int64", "uint8", "bool", "bytes"];

/** Numbers where most functions have their edges. */
const EDGES = [
  0,
  -0,
  0.5,
  -0.5,
  1.5,
  2.5,
  -1.5,
  1,
  -1,
  6,
  7,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];

/** A shape of rank 0 to `rank`, now and then with no elements. */
export function shape(random: Random, rank = 3, least = 0): number[] {
  const size = () => (random.below(12) === 0 ? 0 : 1 + random.below(4));
  return Array.from({ length: least + random.below(rank - least + 1) }, size);
}

/** A shape without empty dimensions. */
export function fullShape(random: Random, rank: number): number[] {
  return Array.from({ length: rank }, () => 1 + random.below(4));
}

/** Values of a dtype: floats with edges, integers of both signs, words. */
export function values(random: Random, dtype: DType, dims: readonly number[]): Tensor {
  return tensorOf(
    dtype,
    dims,
    Array.from({ length: elementCount(dims) }, () => element(random, dtype)),
  );
}

/** Ordinary floats, for what adds up many. */
export function plain(random: Random, dtype: DType, dims: readonly number[]): Tensor {
  const one = () =>
    dtype.startsWith("float") ? Math.fround((random.below(4001) - 2000) / 500) : Number(element(random, dtype));
  return tensorOf(dtype, dims, Array.from({ length: elementCount(dims) }, one));
}

function element(random: Random, dtype: DType): number | string {
  if (dtype === "bytes") return random.pick(["", "a", "b", "ab", "Zebra", "\xff\x00", "a"]);
  if (dtype === "bool") return random.below(2);
  if (dtype.startsWith("float")) {
    return random.below(4) === 0 ? random.pick(EDGES) : Math.fround((random.below(4001) - 2000) / 400);
  }
  if (dtype.startsWith("uint")) return random.pick([0, 1, 2, 3, 7, 200, 255]);
  return random.below(6) === 0 ? random.pick([100, 127, -128]) : random.below(13) - 6;
}

/** A list of int32. */
export function ints(...numbers: number[]): Tensor {
  return tensorOf("int32", [numbers.length], numbers);
}

/** One int32. */
export function int(number: number): Tensor {
  return tensorOf("int32", [], [number]);
}

/** A shape that broadcasts with another. */
export function broadcastable(random: Random, dims: readonly number[]): number[] {
  const cut = dims.slice(random.below(dims.length + 1));
  return cut.map((size) => (random.below(3) === 0 ? 1 : size));
}

/** The attribute `T`. */
export function typed(dtype: DType, more: Readonly<Record<string, JsonValue>> = {}): Record<string, JsonValue> {
  return { T: type(dtype), ...more };
}

/** An attribute. */
export const attr = {
  flag: (b: boolean): JsonValue => ({ b }),
  integer: (i: number): JsonValue => ({ i: String(i) }),
  float: (f: number): JsonValue => ({ f }),
  text: (s: string): JsonValue => ({ s: Buffer.from(s).toString("base64") }),
  integers: (...numbers: number[]): JsonValue => ({ list: { i: numbers.map(String) } }),
  types: (...dtypes: DType[]): JsonValue => ({
    list: { type: dtypes.map((dtype) => (type(dtype) as { type: string }).type) },
  }),
};
