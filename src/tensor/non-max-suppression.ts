import { invalidArgument, type ServingError } from "../errors.ts";
import { elementNumbers } from "./elements.ts";
import type { Tensor } from "./tensor.ts";

/** Thresholds and form of the boxes for {@link nonMaxSuppression}. */
export interface SuppressionOptions {
  /** Overlap (intersection over union) above which the box with the smaller score is dropped. Default 0.5. */
  readonly iouThreshold?: number;
  /** Boxes whose score is not above it are dropped first. Default: none is. */
  readonly scoreThreshold?: number;
  /** Boxes that are kept at most. Default: all. */
  readonly maxBoxes?: number;
  /**
   * Meaning of a box's four numbers: `corners` = left, top, right, bottom (default); `size` = left, top, width, height;
   * `center` = center x, center y, width, height.
   */
  readonly format?: "corners" | "size" | "center";
  /** The class of each box: only boxes of the same class suppress one another. */
  readonly classes?: Tensor | ArrayLike<number>;
}

/**
 * Chooses among overlapping boxes those with the best scores. `boxes` is `[n, 4]`, in any
 * unit; `scores` is `[n]`. Gives the indices of the boxes kept, the best score first, of
 * equal scores the smaller index. A box with NaN in it or in its score is never kept. Throws
 * `invalid_argument` for other shapes, unequal counts, and thresholds other than numbers.
 */
export function nonMaxSuppression(boxes: Tensor, scores: Tensor, options: SuppressionOptions = {}): number[] {
  const {
    iouThreshold = 0.5,
    scoreThreshold = Number.NEGATIVE_INFINITY,
    maxBoxes = Number.POSITIVE_INFINITY,
  } = options;
  checkThresholds({ iouThreshold, scoreThreshold, maxBoxes });
  const candidates = toCandidates(boxes, scores, options).filter(({ score }) => score > scoreThreshold);
  candidates.sort((a, b) => b.score - a.score || a.index - b.index);
  const kept: Candidate[] = [];
  for (const candidate of candidates) {
    if (kept.length >= maxBoxes) break;
    const isCovered = kept.some((box) => box.kind === candidate.kind && overlap(box, candidate) > iouThreshold);
    if (!isCovered) kept.push(candidate);
  }
  return kept.map(({ index }) => index);
}

interface Candidate {
  readonly index: number;
  readonly score: number;
  readonly kind: number;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

function checkThresholds(thresholds: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(thresholds)) {
    if (typeof value === "number" && !Number.isNaN(value)) continue;
    throw invalid(`${name} is ${String(value)}; expected a number`);
  }
}

function toCandidates(boxes: Tensor, scores: Tensor, { classes, format = "corners" }: SuppressionOptions): Candidate[] {
  const count = scores.shape[0] ?? 0;
  if (scores.shape.length !== 1) throw invalid(`the scores have shape [${scores.shape}]; expected [n]`);
  if (boxes.shape.length !== 2 || boxes.shape[1] !== 4 || boxes.shape[0] !== count) {
    throw invalid(`the boxes have shape [${boxes.shape}]; expected [${count},4], one box for each score`);
  }
  const kinds = kindsOf(classes, count);
  const numbers = elementNumbers(boxes, "nonMaxSuppression");
  const values = elementNumbers(scores, "nonMaxSuppression");
  const toBox = FORMATS[format];
  if (toBox === undefined) throw invalid(`format is "${format}"; expected corners, size or center`);
  return Array.from({ length: count }, (_, index) => {
    const [a, b, c, d] = [0, 1, 2, 3].map((part) => numbers[4 * index + part]!) as [number, number, number, number];
    return { index, score: values[index]!, kind: kinds?.[index] ?? 0, ...toBox(a, b, c, d) };
  }).filter(({ left, top, right, bottom }) => !Number.isNaN(left + top + right + bottom));
}

function kindsOf(classes: Tensor | ArrayLike<number> | undefined, count: number): ArrayLike<number> | undefined {
  if (classes === undefined) return undefined;
  const kinds = "dtype" in classes ? elementNumbers(classes, "nonMaxSuppression") : classes;
  if (kinds.length !== count) throw invalid(`there are ${kinds.length} classes for ${count} boxes`);
  return kinds;
}

type Box = Pick<Candidate, "left" | "top" | "right" | "bottom">;

const FORMATS: Readonly<Record<string, (a: number, b: number, c: number, d: number) => Box>> = {
  corners: (left, top, right, bottom) => ({ left, top, right, bottom }),
  size: (left, top, width, height) => ({ left, top, right: left + width, bottom: top + height }),
  center: (x, y, width, height) => ({
    left: x - width / 2,
    top: y - height / 2,
    right: x + width / 2,
    bottom: y + height / 2,
  }),
};

/** Intersection over union, 0 if both are empty. */
function overlap(one: Box, other: Box): number {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (areaOf(one) + areaOf(other) - shared);
}

function areaOf({ left, top, right, bottom }: Box): number {
  return (right - left) * (bottom - top);
}

function invalid(problem: string): ServingError {
  return invalidArgument(`nonMaxSuppression: ${problem}.`);
}
