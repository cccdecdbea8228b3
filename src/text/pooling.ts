import { failedPrecondition, invalidArgument } from "../errors.ts";
import { fromBfloat16, fromFloat16 } from "../tensor/float16.ts";
import { createTensor, type Tensor } from "../tensor/tensor.ts";

/** A way to make one vector of those of a text's tokens, in the words of sentence-transformers. */
export type PoolingKind = "cls" | "mean" | "max" | "mean_sqrt_len_tokens" | "weightedmean" | "lasttoken";

/** A row's tokens in the model's output: vectors of `width` numbers from `start` on, `count` of them, some masked. */
interface TokenVectors {
  readonly values: ArrayLike<number>;
  readonly start: number;
  readonly width: number;
  /** Places of the tokens that are no padding. */
  readonly places: readonly number[];
}

type Pool = (tokens: TokenVectors, into: Float32Array) => void;

/** https://github.com/UKPLab/sentence-transformers/blob/master/sentence_transformers/models/Pooling.py */
const POOLS: Readonly<Record<PoolingKind, Pool>> = {
  cls: (tokens, into) => copyVector(tokens, tokens.places[0] ?? 0, into),
  lasttoken: (tokens, into) => copyVector(tokens, tokens.places.at(-1) ?? 0, into),
  max: ({ values, start, width, places }, into) => {
    into.fill(Number.NEGATIVE_INFINITY);
    for (const place of places)
      for (let at = 0; at < width; at++) into[at] = Math.max(into[at] ?? 0, values[start + place * width + at] ?? 0);
  },
  mean: (tokens, into) => weighted(tokens, into, { weightOf: () => 1, divisorOf: (sum) => sum }),
  mean_sqrt_len_tokens: (tokens, into) => weighted(tokens, into, { weightOf: () => 1, divisorOf: Math.sqrt }),
  weightedmean: (tokens, into) => weighted(tokens, into, { weightOf: (place) => place + 1, divisorOf: (sum) => sum }),
};

/** The names of {@link PoolingKind}, as a list. */
export const POOLING_KINDS = Object.keys(POOLS) as readonly PoolingKind[];

/**
 * One vector for each row: of a model's last hidden states [rows, tokens, width] and the attention mask [rows, tokens].
 * Several kinds give vectors behind each other. Throws `invalid_argument` for tensors of other shapes.
 */
export function pool(lastHidden: Tensor, mask: Tensor, kinds: PoolingKind | readonly PoolingKind[]): Tensor<"float32"> {
  const all = typeof kinds === "string" ? [kinds] : kinds;
  const [rows = 0, tokens = 0, width = 0] = lastHidden.shape;
  const isMask = mask.shape.length === 2 && mask.shape[0] === rows && mask.shape[1] === tokens;
  if (lastHidden.shape.length !== 3 || !isMask || mask.dtype === "bytes")
    throw invalidArgument(
      `Pooling takes [rows, tokens, width] and a mask [rows, tokens]; got [${lastHidden.shape}] and [${mask.shape}].`,
    );
  const values = numbersOf(lastHidden);
  const pooled = new Float32Array(rows * all.length * width);
  for (let row = 0; row < rows; row++) {
    const places: number[] = [];
    for (let at = 0; at < tokens; at++) if (Number(mask.data[row * tokens + at]) !== 0) places.push(at);
    for (const [index, kind] of all.entries()) {
      const at = (row * all.length + index) * width;
      POOLS[kind]({ values, start: row * tokens * width, width, places }, pooled.subarray(at, at + width));
    }
  }
  return createTensor("float32", [rows, all.length * width], pooled);
}

/** The vectors with a length (L2) of 1; those of zeros stay. */
export function normalise({ shape, data }: Tensor<"float32">): Tensor<"float32"> {
  const width = shape.at(-1) ?? 1;
  const normal = new Float32Array(data.length);
  for (let start = 0; start < data.length; start += width) {
    let sum = 0;
    for (let at = start; at < start + width; at++) sum += (data[at] ?? 0) ** 2;
    const length = Math.max(Math.sqrt(sum), 1e-12);
    for (let at = start; at < start + width; at++) normal[at] = (data[at] ?? 0) / length;
  }
  return createTensor("float32", shape, normal);
}

/**
 * The first numbers of each vector, which models trained for it (Matryoshka) can do with; {@link normalise} them
 * afterwards. Throws `invalid_argument` for more than there are.
 */
export function cutDimensions({ shape, data }: Tensor<"float32">, dimensions: number): Tensor<"float32"> {
  const width = shape.at(-1) ?? 0;
  if (!Number.isSafeInteger(dimensions) || dimensions < 1 || dimensions > width)
    throw invalidArgument(`The embeddings have ${width} dimensions; expected 1 to ${width}, got ${dimensions}.`);
  const rows = width === 0 ? 0 : data.length / width;
  const cut = new Float32Array(rows * dimensions);
  for (let row = 0; row < rows; row++) cut.set(data.subarray(row * width, row * width + dimensions), row * dimensions);
  return createTensor("float32", [...shape.slice(0, -1), dimensions], cut);
}

/** A tensor's numbers, whatever float type it has. Throws `failed_precondition` for other types. */
export function numbersOf(tensor: Tensor): Float32Array | Float64Array {
  if (tensor.dtype === "float32" || tensor.dtype === "float64") return tensor.data;
  if (tensor.dtype === "float16") return Float32Array.from(tensor.data, fromFloat16);
  if (tensor.dtype === "bfloat16") return Float32Array.from(tensor.data, fromBfloat16);
  throw failedPrecondition(`The model's output is ${tensor.dtype}; expected floats.`);
}

function copyVector({ values, start, width }: TokenVectors, place: number, into: Float32Array): void {
  for (let at = 0; at < width; at++) into[at] = values[start + place * width + at] ?? 0;
}

interface Weights {
  readonly weightOf: (place: number) => number;
  readonly divisorOf: (sum: number) => number;
}

function weighted({ values, start, width, places }: TokenVectors, into: Float32Array, by: Weights): void {
  const sums = new Float64Array(width);
  let total = 0;
  for (const place of places) {
    const weight = by.weightOf(place);
    total += weight;
    const from = start + place * width;
    for (let at = 0; at < width; at++) sums[at] = (sums[at] ?? 0) + weight * (values[from + at] ?? 0);
  }
  const divisor = Math.max(by.divisorOf(total), 1e-9);
  for (let at = 0; at < width; at++) into[at] = (sums[at] ?? 0) / divisor;
}
