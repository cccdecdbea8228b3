import { type FormTensor, rangeOf } from "./form-tensor.ts";

/** One class of an answer. */
export interface TopClass {
  readonly index: number;
  /** Undefined = the model names none. */
  readonly label: string | undefined;
  readonly score: number;
  /** Length of its bar, from 0 to 1. */
  readonly part: number;
}

/** Rows that are shown, and classes of each. */
const [MAX_ROWS, MAX_CLASSES] = [4, 5];

/**
 * The classes with the highest scores for each row of an output of scores: one of floats with labels, or whose rows are
 * probabilities; undefined for any other output.
 */
export function topClasses(
  output: FormTensor,
  labels?: readonly string[],
): readonly (readonly TopClass[])[] | undefined {
  const { datatype, shape, values } = output;
  const classes = shape.at(-1) ?? 0;
  if (!/^(?:FP|BF)/.test(datatype) || classes < 2 || shape.length > 2) return undefined;
  const count = Math.min(values.length / classes, MAX_ROWS);
  const rows = Array.from({ length: count }, (_, row) => values.slice(row * classes, (row + 1) * classes) as number[]);
  const isNamed = labels !== undefined && labels.length === classes;
  if (rows.length === 0 || !(isNamed || rows.every(isDistribution))) return undefined;
  return rows.map((row) => topOf(row, isNamed ? labels : undefined));
}

function isDistribution(row: readonly number[]): boolean {
  const sum = row.reduce((total, score) => total + score, 0);
  return row.every((score) => score >= 0 && score <= 1) && Math.abs(sum - 1) < 0.01;
}

function topOf(row: readonly number[], labels: readonly string[] | undefined): readonly TopClass[] {
  const [low, high] = rangeOf(row, 0, 1);
  const ranked = (score: number) => (Number.isNaN(score) ? Number.NEGATIVE_INFINITY : score);
  const partOf = (score: number) => Math.max(0, Math.min(1, (ranked(score) - low) / (high - low)));
  const sorted = row.map((score, index) => ({ index, score })).toSorted((a, b) => ranked(b.score) - ranked(a.score));
  return sorted
    .slice(0, MAX_CLASSES)
    .map(({ index, score }) => ({ index, label: labels?.[index], score, part: partOf(score) }));
}
