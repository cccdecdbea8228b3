import { CancelSource } from "../platform/async/cancel-source.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import {
  type ExampleInput,
  type ExampleInputs,
  exampleElement,
  filledTensor,
} from "../tensor/signature/example-inputs.ts";
import type { Dimension, LooseSpec, Signature, TensorSpec } from "../tensor/signature/signature.ts";
import { createTensors, elementCount, type Tensors } from "../tensor/tensor.ts";
import { type ModelHandle, tryModel } from "./model-handle.ts";

/** Milliseconds after which no other try begins, and the last one is given up. */
const BUDGET_MS = 2000;
/** Time in which a run ends that heeds its deadline. */
const GRACE_MS = 500;
/** For a pipeline that takes any names. */
const ANY: readonly ExampleInput[] = [{ name: "x", dtype: "float32", shape: [3], element: 0.5 }];
/** Larger inputs are not tried: they would take long, and much memory. */
const MAX_ELEMENTS = 1 << 22;

/**
 * Finds inputs on which a model runs, for the example that users are shown. They are run, with several sizes if the
 * model leaves some open; a model whose runs leave something behind is not run, nor is one that is absent. Takes a few
 * seconds at most, whatever the model does. Never throws: the reason of a failed try is dropped.
 */
export async function findExampleInputs(model: ModelHandle | undefined, signature: Signature): Promise<ExampleInputs> {
  const found = await find(model, signature);
  return isTable(signature) ? { ...found, isTable: true } : found;
}

/** Inputs of a model of tables are its columns, unless the only one has its rows. */
function isTable({ isTabular, inputs, suggestedInputs = [] }: Signature): boolean {
  return isTabular === true && inputs === undefined && suggestedInputs.length > 0 && suggestedInputs.every(isColumn);
}

function isColumn({ shape }: LooseSpec): boolean {
  return shape?.length === 1 && shape[0] === -1;
}

async function find(
  model: ModelHandle | undefined,
  { inputs, suggestedInputs = [], modelInputs }: Signature,
): Promise<ExampleInputs> {
  const specs = inputs ?? modelInputs;
  const needed = specs?.filter((spec) => spec.default === undefined) ?? complete(suggestedInputs);
  const likely = model?.likelyInputs ?? [];
  const lists = (needed === undefined ? likely : [needed]).flatMap(withOtherValues);
  const candidates = lists.flatMap((list) =>
    [...attempts(list, specs !== undefined)].map((inputs) => ({ inputs, specs: list })),
  );
  if (candidates.length === 0) candidates.push({ inputs: ANY, specs: [] });
  const [first] = candidates as [(typeof candidates)[number]];
  const small = candidates.filter(isSmall);
  if (model?.isPure !== true || small.length === 0) return { inputs: first.inputs, guessed: guessedNames(first.specs) };
  const until = performance.now() + BUDGET_MS;
  for (const { inputs, specs: list } of small) {
    const leftMs = until - performance.now();
    if (leftMs <= 0) break;
    const outcome = await tryOn(model, inputs, leftMs);
    if (outcome === "ran") return { inputs, ran: true, guessed: guessedNames(list, inputs) };
    if (outcome === "runs")
      return { inputs: first.inputs, ran: false, stillRuns: true, guessed: guessedNames(first.specs) };
  }
  return { inputs: first.inputs, ran: false, guessed: guessedNames(first.specs) };
}

/** Specs, and the same without the model's own example, which it may not take. */
function withOtherValues(specs: readonly TensorSpec[]): readonly (readonly TensorSpec[])[] {
  if (specs.every(({ example }) => example === undefined)) return [specs];
  return [specs, specs.map(({ example: _, ...rest }) => rest)];
}

function isSmall({ inputs }: { readonly inputs: readonly ExampleInput[] }): boolean {
  return inputs.reduce((sum, { shape }) => sum + elementCount(shape), 0) <= MAX_ELEMENTS;
}

/** Suggestions of which everything is known. */
function complete(specs: readonly LooseSpec[]): readonly TensorSpec[] | undefined {
  const isComplete = (spec: LooseSpec): spec is TensorSpec => spec.dtype !== undefined && spec.shape !== undefined;
  return specs.length > 0 && specs.every(isComplete) ? specs : undefined;
}

/** Some runs ignore the deadline: an endless loop in a library, or in a user's own driver. */
async function tryOn(
  model: ModelHandle,
  inputs: readonly ExampleInput[],
  leftMs: number,
): Promise<"ran" | "failed" | "runs"> {
  const signal = new CancelSource();
  const limits = { deadline: Date.now() + leftMs, warmUp: 0 };
  const call = { signature: model.defaultSignature, limits, signal };
  const tensors: Tensors = createTensors(inputs.map((input) => [input.name, filledTensor(input)]));
  const run = tryModel(model, tensors, call).then(
    () => "ran" as const,
    () => "failed" as const,
  );
  if (await settlesWithin(run, leftMs + GRACE_MS)) return run;
  signal.abort(new DOMException("The try took too long.", "TimeoutError"));
  return "runs";
}

/** One row is not a guess, nor is the size 1 of inputs that ran. */
function guessedNames(specs: readonly TensorSpec[], ran: readonly ExampleInput[] = []): string[] {
  const isGuess = ({ shape }: TensorSpec, index: number) =>
    shape === undefined ||
    shape.some((size, axis) => (axis > 0 || shape.length === 1) && size === -1 && ran[index]?.shape[axis] !== 1);
  return specs.filter(isGuess).map(({ name }) => name);
}

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
 * Inputs to try on a model that takes such specs, the likeliest first; those of fixed shapes as they are. If the
 * server does not know the dtypes, numbers show them: what has decimals is read as a float.
 */
function* attempts(specs: readonly TensorSpec[], knowsTypes = true): Generator<readonly ExampleInput[]> {
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
  /** True if all other axes are 1. */
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

function toInput(spec: TensorSpec, plan: Plan): ExampleInput {
  const { name, dtype, shape } = spec;
  const number = plan.knowsTypes || !dtype.includes("float") ? plan.fill.number : 0.5;
  const element = dtype === "bytes" ? plan.fill.text : number;
  const sizes = shape?.map((dimension, axis) => fitting(dimension, sizeOfAxis(axis, shape.length, plan)));
  return { name, dtype, shape: sizes ?? shapeOfAnyRank(plan.size), ...exampleElement(spec, element) };
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
