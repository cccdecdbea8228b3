import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { DecodeBudget } from "../../platform/limits/memory/decode-budget.ts";
import { toFixedPoint } from "../../platform/text/size-text.ts";
import { BytesBuilder } from "../../tensor/byte-ranges.ts";
import { fromBfloat16, fromFloat16 } from "../../tensor/float16.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** An output to classify, the requested number of classes, and their names. */
export interface ClassifiedOutput {
  readonly name: string;
  readonly count: number;
  /** One text for each class; absent = none are known. */
  readonly labels?: readonly string[] | undefined;
}

/** Memory of one class while its text is built, in bytes. */
export const CLASS_BYTES = 128;

/**
 * The greatest `count` values of each row as `"value:index"` or `"value:index:label"`, greatest first: shape [batch,
 * count], or [count] for rank 1 (the classification extension). Throws `invalid_argument` for an output without
 * numbers, and for more classes than `maxBytes` hold.
 */
export function classify(tensor: Tensor, output: ClassifiedOutput, maxBytes: number): Tensor<"bytes"> {
  const { shape } = tensor;
  const { name, count, labels } = output;
  if (tensor.dtype === "bytes" || tensor.dtype.startsWith("complex") || shape.length === 0) {
    throw invalidArgument(
      `class result not available for output '${name}' of datatype ${tensor.dtype} and shape [${shape}]; it needs numbers in at least one dimension`,
    );
  }
  const rows = shape.length === 1 ? 1 : (shape[0] as number);
  const width = rows === 0 ? 0 : tensor.data.length / rows;
  const kept = Math.min(count, width);
  new DecodeBudget(maxBytes).spend(rows * kept * CLASS_BYTES, () => `${rows * kept} classes of output '${name}'`);
  const classes = new BytesBuilder();
  for (let start = 0; start < rows * width; start += width) {
    for (const index of greatest(tensor, { start, width, kept })) {
      classes.append(describe(tensor, start + index, { index, labels }));
    }
  }
  return classes.finish(shape.length === 1 ? [kept] : [rows, kept]);
}

/** {@link classify} for a codec thread. */
export const classifyJob = defineJob(import.meta.url, "classifyJob", classify);

interface ClassName {
  readonly index: number;
  readonly labels: readonly string[] | undefined;
}

/** Floats as C's printf("%f") writes them, which is what clients have seen; an empty label counts as none. */
function describe(tensor: Tensor, at: number, { index, labels }: ClassName): string {
  const value = valueAt(tensor, at);
  const isFloat = typeof value === "number" && tensor.dtype.includes("float");
  const number = isFloat ? toFixedPoint(value, 6) : String(value);
  const label = labels?.[index];
  return label ? `${number}:${index}:${label}` : `${number}:${index}`;
}

/** A row of a tensor's values, and the number of wanted ones. */
interface Row {
  readonly start: number;
  readonly width: number;
  readonly kept: number;
}

/** A number of a tensor; half floats are converted. */
function valueAt({ dtype, data }: Tensor, index: number): number | bigint {
  const value = data[index] as number | bigint;
  if (dtype === "float16") return fromFloat16(value as number);
  return dtype === "bfloat16" ? fromBfloat16(value as number) : value;
}

/**
 * The indices of a row's greatest values, in descending order; equal ones in their own order, NaN last. Uses memory
 * only for the wanted ones.
 */
function greatest(tensor: Tensor, { start, width, kept }: Row): Uint32Array {
  const isBefore = (a: number, b: number) => {
    const [first, second] = [valueAt(tensor, start + a), valueAt(tensor, start + b)];
    if (first > second || second > first) return first > second;
    const [isFirstNaN, isSecondNaN] = [Number.isNaN(first), Number.isNaN(second)];
    return isFirstNaN === isSecondNaN ? a < b : isSecondNaN;
  };
  const heap = new LastOnTop(kept, isBefore);
  for (let index = 0; index < width; index++) heap.offer(index);
  return heap.inOrder();
}

/** A binary heap of the best indices so far, the worst of them on top, where a better one replaces it. */
class LastOnTop {
  readonly #heap: Uint32Array;
  readonly #isBefore: (a: number, b: number) => boolean;
  #size = 0;

  constructor(capacity: number, isBefore: (a: number, b: number) => boolean) {
    this.#heap = new Uint32Array(capacity);
    this.#isBefore = isBefore;
  }

  offer(index: number): void {
    const heap = this.#heap;
    if (this.#size < heap.length) {
      heap[this.#size] = index;
      this.#rise(this.#size++);
    } else if (heap.length > 0 && this.#isBefore(index, heap[0] as number)) {
      heap[0] = index;
      this.#sink();
    }
  }

  /** All of them, best first; the heap is empty afterwards. */
  inOrder(): Uint32Array {
    const heap = this.#heap;
    while (this.#size > 1) {
      const last = heap[0] as number;
      heap[0] = heap[--this.#size] as number;
      heap[this.#size] = last;
      this.#sink();
    }
    return heap;
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfLater(parent, at)) return;
      at = parent;
    }
  }

  #sink(): void {
    let at = 0;
    for (let child = 1; child < this.#size; child = 2 * at + 1) {
      const other = child + 1;
      const isOtherLater =
        other < this.#size && this.#isBefore(this.#heap[child] as number, this.#heap[other] as number);
      const later = isOtherLater ? other : child;
      if (!this.#swapIfLater(at, later)) return;
      at = later;
    }
  }

  /** Swaps two places if the lower one belongs higher; returns true if it did. */
  #swapIfLater(higher: number, lower: number): boolean {
    const heap = this.#heap;
    const [above, below] = [heap[higher] as number, heap[lower] as number];
    if (!this.#isBefore(above, below)) return false;
    heap[higher] = below;
    heap[lower] = above;
    return true;
  }
}
