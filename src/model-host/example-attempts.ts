import type { ExampleInput } from "../signature/example-inputs.ts";
import type { Dimension, TensorSpec } from "../signature/signature.ts";

/** Sizes for what a model leaves open: scalars, short texts, small images, and the size of most image models. */
const SIZES = [1, 8, 32, 224] as const;

/** The smallest image in PNG, for models that decode what they are sent. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC",
  "base64",
);

interface Fill {
  readonly number: 0 | 1;
  readonly text: Uint8Array;
}

/**
 * Values of elements, the usual first: a model may divide by its input, or parse a number, a serialized Example or an
 * image.
 */
const FILLS: readonly [Fill, ...Fill[]] = [
  { number: 0, text: Buffer.from("text") },
  { number: 1, text: Buffer.from("1") },
  { number: 0, text: Buffer.alloc(0) },
  { number: 0, text: PNG },
];

/**
 * Inputs to try on a model that takes such specs, the likeliest first; those of fixed shapes as they are. Where the
 * server does not know the dtypes, numbers show them: what has decimals is read as a float.
 */
export function* attempts(specs: readonly TensorSpec[], knowsTypes = true): Generator<readonly ExampleInput[]> {
  const seen = new Set<string>();
  for (const plan of plans()) {
    const inputs = specs.map((spec) => toInput(spec, { ...plan, knowsTypes }));
    const key = inputs.map(({ shape, element }) => `${shape}:${element}`).join(";");
    if (seen.has(key)) continue;
    seen.add(key);
    yield inputs;
  }
}

interface Plan {
  readonly fill: Fill;
  readonly size: number;
  /** Of the first dimension, which in most models counts rows. */
  readonly rows: number;
  readonly knowsTypes: boolean;
  /** True where all other axes are 1. */
  readonly isLastAxisAlone?: boolean;
}

function* plans(): Generator<Omit<Plan, "knowsTypes">> {
  const [usual, ...others] = FILLS;
  for (const size of SIZES) yield { fill: usual, size, rows: 1 };
  for (const fill of others) for (const size of [1, 8]) yield { fill, size, rows: 1 };
  for (const size of [8, 32]) yield { fill: usual, size, rows: size };
  // A model that is given its state has its rows on some other axis of that.
  for (const size of [32, 224]) yield { fill: usual, size, rows: 1, isLastAxisAlone: true };
  // Lines of text in images are 48 pixels high; a second of sound has 16 000 samples.
  yield { fill: usual, size: 48, rows: 1 };
  for (const size of [512, 16_000]) yield { fill: usual, size, rows: 1, isLastAxisAlone: true };
}

function toInput({ name, dtype, shape }: TensorSpec, plan: Plan): ExampleInput {
  const number = plan.knowsTypes || !dtype.includes("float") ? plan.fill.number : 0.5;
  const element = dtype === "bytes" ? plan.fill.text : number;
  const sizes = shape?.map((dimension, axis) => fitting(dimension, sizeOfAxis(axis, shape.length, plan)));
  return { name, dtype, shape: sizes ?? shapeOfAnyRank(plan.size), element };
}

function sizeOfAxis(axis: number, rank: number, { size, rows, isLastAxisAlone = false }: Plan): number {
  if (axis === 0 && rank > 1) return rows;
  return isLastAxisAlone && axis < rank - 1 ? 1 : size;
}

function fitting(dimension: Dimension, size: number): number {
  if (typeof dimension === "object") return Math.max(dimension.min, Math.min(dimension.max, size));
  return dimension === -1 ? size : dimension;
}

/** One element, a row, or one image. */
function shapeOfAnyRank(size: number): number[] {
  if (size === 1) return [1];
  return size === 8 ? [1, size] : [1, 3, size, size];
}
