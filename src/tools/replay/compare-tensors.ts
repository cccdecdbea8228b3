import { invalidArgument } from "../../errors.ts";
import { DATA_TYPES } from "../../tensor/data-types.ts";
import type { DType } from "../../tensor/dtype.ts";
import { elementNumbers, indexText } from "../../tensor/elements.ts";
import type { Tensor, Tensors } from "../../tensor/tensor.ts";

/** An output that came otherwise than it was recorded. */
export interface Difference {
  readonly output: string;
  /** Distance of the element that differs most; infinite if the outputs cannot be compared by elements. */
  readonly distance: number;
  /** As text: `0.5 at [3]: 2 was recorded, 2.5 came`. */
  readonly text: string;
}

/** The outputs that differ by more than their dtypes' tolerances. NaN equals NaN. */
export function compareTensors(
  recorded: Tensors,
  came: Tensors,
  tolerances: Tolerances,
  sides: Sides = { first: "was recorded", second: "came" },
): Difference[] {
  const names = new Set([...Object.keys(recorded), ...Object.keys(came)]);
  return Array.from(names).flatMap((output) => {
    const found = compareOutput(recorded[output], came[output], tolerances);
    return found === undefined ? [] : [{ output, distance: found.distance, text: found.textFor(sides) }];
  });
}

/**
 * The greatest difference of each output of an answer in parts, with the number of its part if there are several. Parts
 * that one of the two does not have are left out.
 */
export function compareParts(
  recorded: readonly Tensors[],
  came: readonly Tensors[],
  tolerances: Tolerances,
  sides?: Sides,
): readonly Difference[] {
  const worst = new Map<string, Difference>();
  const isOne = recorded.length <= 1 && came.length <= 1;
  for (const [index, part] of recorded.entries()) {
    for (const { output, distance, text } of compareTensors(part, came[index] ?? part, tolerances, sides)) {
      const known = worst.get(output);
      if (known !== undefined && known.distance >= distance) continue;
      worst.set(output, { output, distance, text: isOne ? text : `part ${index + 1}: ${text}` });
    }
  }
  return [...worst.values()];
}

/** Words that follow the two values of a difference. */
interface Sides {
  readonly first: string;
  readonly second: string;
}

type Found = { readonly distance: number; readonly textFor: (sides: Sides) => string } | undefined;

function compareOutput(recorded: Tensor | undefined, came: Tensor | undefined, tolerances: Tolerances): Found {
  const distance = Number.POSITIVE_INFINITY;
  if (recorded === undefined) return { distance, textFor: ({ first, second }) => `nothing ${first}, it ${second}` };
  if (came === undefined) return { distance, textFor: ({ first, second }) => `it ${first}, nothing ${second}` };
  if (formOf(recorded) !== formOf(came)) {
    const textFor = ({ first, second }: Sides) => `${formOf(recorded)} ${first}, ${formOf(came)} ${second}`;
    return { distance, textFor };
  }
  const { dtype, shape } = recorded;
  if (dtype === "bytes") return compareBytes(recorded as Tensor<"bytes">, came as Tensor<"bytes">);
  const isComplex = dtype === "complex64" || dtype === "complex128";
  const pair = dtype === "int64" || dtype === "uint64" ? integerPair(recorded, came) : numberPair(recorded, came);
  return compareElements(pair, isComplex ? [...shape, 2] : shape, tolerances.get(dtype));
}

/** Elements at the same places. */
interface Pair {
  readonly length: number;
  /** 0 for equal ones, infinite if one alone is not a number. */
  distance(index: number): number;
  /** Of the recorded element, without its sign. */
  magnitude(index: number): number;
  texts(index: number): readonly string[];
}

/** Real and imaginary parts count as separate elements. */
function numberPair(recorded: Tensor, came: Tensor): Pair {
  const [a, b] = [recorded, came].map(toNumbers) as [ArrayLike<number>, ArrayLike<number>];
  return {
    length: a.length,
    distance: (index) => {
      if (Object.is(a[index], b[index])) return 0;
      const distance = Math.abs(b[index]! - a[index]!);
      return Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance;
    },
    magnitude: (index) => Math.abs(a[index]!),
    texts: (index) => [String(a[index]), String(b[index])],
  };
}

function toNumbers(tensor: Tensor): ArrayLike<number> {
  const isComplex = tensor.dtype === "complex64" || tensor.dtype === "complex128";
  return isComplex ? (tensor.data as unknown as ArrayLike<number>) : elementNumbers(tensor, "replay");
}

/** Integers of 64 bits, which numbers would round. */
function integerPair(recorded: Tensor, came: Tensor): Pair {
  const [a, b] = [recorded.data, came.data] as unknown as [BigInt64Array, BigInt64Array];
  return {
    length: a.length,
    distance: (index) => Math.abs(Number(b[index]! - a[index]!)),
    magnitude: (index) => Math.abs(Number(a[index])),
    texts: (index) => [String(a[index]), String(b[index])],
  };
}

function formOf({ dtype, shape }: Tensor): string {
  return `${dtype}[${shape}]`;
}

function compareBytes({ data, shape }: Tensor<"bytes">, came: Tensor<"bytes">): Found {
  const index = data.findIndex((element, at) => Buffer.compare(element, came.data[at] as Uint8Array) !== 0);
  if (index === -1) return undefined;
  const [before, now] = [data[index], came.data[index]].map((bytes) => textOf(bytes as Uint8Array));
  const textFor = ({ first, second }: Sides) => `${indexText(index, shape)}: ${before} ${first}, ${now} ${second}`;
  return { distance: Number.POSITIVE_INFINITY, textFor };
}

/** Characters of a text that are shown. */
const MAX_TEXT = 40;

function textOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  return JSON.stringify(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
}

const EXACT: Tolerance = { rtol: 0, atol: 0 };

/** The element that differs most of those that differ by more than the tolerance. */
function compareElements(pair: Pair, shape: readonly number[], { rtol, atol }: Tolerance = EXACT): Found {
  let worst = { index: -1, distance: 0 };
  for (let index = 0; index < pair.length; index++) {
    const distance = pair.distance(index);
    if (distance <= worst.distance) continue;
    const isNear = Number.isFinite(distance) && distance <= atol + rtol * pair.magnitude(index);
    if (!isNear) worst = { index, distance };
  }
  if (worst.index === -1) return undefined;
  const { index, distance } = worst;
  const [before, now] = pair.texts(index);
  const by = Number.isFinite(distance) ? `by ${Number(distance.toPrecision(3))} ` : "";
  const place = `${by}at ${indexText(index, shape)}`;
  return { distance, textFor: ({ first, second }) => `${place}: ${before} ${first}, ${now} ${second}` };
}

/** A difference that counts as none: up to `atol` plus `rtol` times the recorded value. */
interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** Tolerances by dtype; a dtype that is not there has to be equal. */
export type Tolerances = ReadonlyMap<DType, Tolerance>;

/** Room for another order of the same additions, by the digits that a dtype has. */
const DEFAULTS: readonly (readonly [DType, Tolerance])[] = [
  ["float16", { rtol: 1e-2, atol: 1e-3 }],
  ["bfloat16", { rtol: 5e-2, atol: 1e-2 }],
  ["float32", { rtol: 1e-4, atol: 1e-5 }],
  ["float64", { rtol: 1e-7, atol: 1e-9 }],
  ["complex64", { rtol: 1e-4, atol: 1e-5 }],
  ["complex128", { rtol: 1e-7, atol: 1e-9 }],
];

const NUMBERS: readonly unknown[] = DATA_TYPES.map(([, , dtype]) => dtype).filter(
  (dtype) => dtype !== "bytes" && dtype !== "bool",
);
const NUMBER = String.raw`\d*\.?\d+(?:e[+-]?\d+)?`;
const FORM = new RegExp(`^(?:([a-z]+\\d*)=)?(${NUMBER})(?:,(${NUMBER}))?$`, "i");

/**
 * Tolerances as users write them, `[DTYPE=]RTOL[,ATOL]`: without a dtype for all floats, without ATOL as large as RTOL.
 * Throws `invalid_argument` for any other text.
 */
export function parseTolerances(texts: readonly string[]): Tolerances {
  const tolerances = new Map(DEFAULTS);
  for (const text of texts) {
    const [, dtype, rtol, atol = rtol] = FORM.exec(text) ?? [];
    const isKnown = dtype === undefined || NUMBERS.includes(dtype);
    if (rtol === undefined || !isKnown)
      throw invalidArgument(
        `--tolerance is "${text}"; expected [DTYPE=]RTOL[,ATOL], such as 1e-3, float32=1e-3 or int8=0,1.`,
      );
    const tolerance = { rtol: Number(rtol), atol: Number(atol) };
    const dtypes = dtype === undefined ? DEFAULTS.map(([each]) => each) : [dtype as DType];
    for (const each of dtypes) tolerances.set(each, tolerance);
  }
  return tolerances;
}
