import { type DType, type NumericData, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../src/tensor/tensor.ts";

/** A value at the edge of what a type has. */
export type HostileKind = "zero" | "minus one" | "least" | "greatest" | "huge" | "not a number" | "infinite";

const TEXTS: Readonly<Record<HostileKind, string>> = {
  zero: "",
  "minus one": "-1",
  least: "\0",
  greatest: "é".repeat(50_000),
  huge: "1e400",
  "not a number": "nan",
  infinite: "inf",
};
/** As bits of float16 and of bfloat16. */
const HALVES: Readonly<Record<HostileKind, readonly [float16: number, bfloat16: number]>> = {
  zero: [0, 0],
  "minus one": [0xbc00, 0xbf80],
  least: [0xfbff, 0xff7f],
  greatest: [0x7bff, 0x7f7f],
  huge: [0x7bff, 0x7149],
  "not a number": [0x7e00, 0x7fc0],
  infinite: [0x7c00, 0x7f80],
};
const FLOATS: Readonly<Record<HostileKind, number>> = {
  zero: 0,
  "minus one": -1,
  least: -3e38,
  greatest: 3e38,
  huge: 2 ** 40,
  "not a number": Number.NaN,
  infinite: Number.POSITIVE_INFINITY,
};

/** A tensor whose elements, or whose last `count` ones, are a value of a kind. */
export function filled(tensor: Tensor, kind: HostileKind, count = tensor.data.length): Tensor {
  const { dtype, shape } = tensor;
  if (dtype === "bytes") {
    const text = Buffer.from(TEXTS[kind]);
    return createTensor(
      dtype,
      shape,
      tensor.data.map((old, index) => (index < tensor.data.length - count ? old : text)),
    );
  }
  const data = (tensor.data as NumericData).slice();
  data.fill(hostileNumber(dtype, kind) as never, Math.max(0, data.length - count));
  return createTensor(dtype, shape, data as never);
}

/** A tensor with other sizes, and as many of its elements as these have, again and again. */
export function resized({ dtype, data }: Tensor, shape: readonly number[]): Tensor {
  const count = elementCount(shape);
  if (dtype === "bytes") {
    const texts = Array.from({ length: count }, (_, index) => data[index % data.length] ?? new Uint8Array());
    return createTensor(dtype, shape, texts as never);
  }
  const { array, slots } = numericLayout(dtype as NumericDType);
  const made = new array(count * slots);
  for (let index = 0; index < made.length && data.length > 0; index++) made[index] = data[index % data.length] as never;
  return createTensor(dtype, shape, made as never);
}

function hostileNumber(dtype: DType, kind: HostileKind): number | bigint {
  if (dtype === "float16") return HALVES[kind][0];
  if (dtype === "bfloat16") return HALVES[kind][1];
  if (dtype.includes("float") || dtype.includes("complex")) return FLOATS[kind];
  if (dtype === "bool") return kind === "zero" ? 0 : 1;
  const value = integerOf(dtype, kind);
  return dtype.endsWith("64") ? value : Number(value);
}

function integerOf(dtype: DType, kind: HostileKind): bigint {
  const bits = BigInt(/\d+$/.exec(dtype)?.[0] ?? 8);
  const isSigned = !dtype.startsWith("u");
  const greatest = 2n ** (isSigned ? bits - 1n : bits) - 1n;
  switch (kind) {
    case "zero":
      return 0n;
    case "minus one":
      return isSigned ? -1n : greatest;
    case "least":
      return isSigned ? -greatest - 1n : 0n;
    case "huge":
      return greatest < 2n ** 40n ? greatest / 2n : 2n ** 40n;
    default:
      return greatest;
  }
}
