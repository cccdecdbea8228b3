import { type DType, type NumericDType, numericLayout } from "../../src/tensor/dtype.ts";
import { createTensor, createTensors, elementCount, type Tensor } from "../../src/tensor/tensor.ts";
import { Random } from "../../test/grpc/random.ts";
import { filled, type HostileKind } from "./hostile-values.ts";
import type { Trial } from "./subject.ts";

const TRIALS = 80;
/** Sizes and numbers that operations take for images, windows, lists and tables. */
const SHAPES: readonly (readonly number[])[] = [
  ...[[], [1], [2], [3], [4], [5], [0], [2, 2], [1, 4], [4, 2], [0, 3], [3, 0], [2, 3, 4]],
  ...[
    [1, 4, 4, 1],
    [1, 4, 4, 1],
    [2, 2, 1, 1],
    [0, 4, 4, 1],
    [1, 0, 4, 1],
    [2, 5, 5, 2],
    [1, 1, 1, 1],
  ],
  ...[
    [1, 4, 4, 4, 1],
    [2, 2, 2, 1, 1],
    [0, 2, 2, 2, 1],
  ],
];
const KINDS: readonly HostileKind[] = ["zero", "minus one", "least", "greatest", "huge", "not a number", "infinite"];

/**
 * Inputs `in0`, `in1`, … of some types for an operator of which no good ones are known: of random sizes, the later ones
 * with hostile values; the same each time.
 */
export function randomTrials(operator: string, dtypes: readonly DType[]): Trial[] {
  const random = new Random([...operator].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 2 ** 31, 7));
  const pick = <Value>(list: readonly Value[]) => list[random.below(list.length)]!;
  return Array.from({ length: TRIALS }, (_, index) => {
    const common = pick(SHAPES);
    const odd = index < TRIALS / 4 ? -1 : random.below(dtypes.length);
    const tensors = dtypes.map((dtype, place) => {
      const shape = random.below(3) === 0 ? pick(SHAPES) : shapeFor(dtype, common, pick);
      const tensor = plain(dtype, shape, random);
      if (place !== odd) return tensor;
      return filled(tensor, pick(KINDS), random.below(2) === 0 ? tensor.data.length : 1);
    });
    const what = tensors.map(describe).join(" ");
    return { what, inputs: createTensors(tensors.map((tensor, place) => [`in${place}`, tensor])) };
  });
}

/** Integers beside others are often sizes or axes, of which there is one for each dimension. */
function shapeFor(
  dtype: DType,
  common: readonly number[],
  pick: (list: readonly number[]) => number,
): readonly number[] {
  return /^int(32|64)$/.test(dtype) && common.length > 1 && pick([0, 1]) === 0 ? [common.length] : common;
}

function plain(dtype: DType, shape: readonly number[], random: Random): Tensor {
  const count = elementCount(shape);
  if (dtype === "bytes")
    return createTensor(
      dtype,
      shape,
      Array.from({ length: count }, () => Buffer.from("a")),
    );
  const { array, slots } = numericLayout(dtype as NumericDType);
  const data = new array(count * slots);
  for (let index = 0; index < data.length; index++) {
    const value = dtype === "bool" ? random.below(2) : 1 + random.below(5);
    data[index] = (/int64/.test(dtype) ? BigInt(value) : value) as never;
  }
  return createTensor(dtype, shape, data as never);
}

function describe({ dtype, shape, data }: Tensor): string {
  const values = dtype === "bytes" ? "" : ` ${Array.from(data.slice(0, 6) as ArrayLike<number>, String)}`;
  return `${dtype}[${shape}]${values};`;
}
