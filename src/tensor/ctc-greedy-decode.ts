import { invalidArgument, type ServingError } from "../errors.ts";
import { axisView } from "./along-axis.ts";
import { elementNumbers } from "./elements.ts";
import type { Tensor } from "./tensor.ts";

/** Layout of the scores. */
export interface CtcOptions {
  /** The class that means no symbol; negative ones count from the end. Default 0. */
  readonly blank?: number;
  /** The axis of the time steps. Default -2. */
  readonly timeAxis?: number;
  /** The axis of the classes. Default -1. */
  readonly classAxis?: number;
}

/** One decoded sequence. */
export interface CtcSequence {
  /** The classes read, without blanks and repeats. */
  readonly classes: number[];
  /** The score of each, at the time step where it was first read: a probability if the model gives probabilities. */
  readonly scores: number[];
  /** That time step. */
  readonly steps: number[];
}

/**
 * Reads what a recogniser trained with CTC says: at each time step the best class, repeats merged, blanks dropped.
 * `scores` is `[time, classes]`, or has one axis more for a batch, wherever that lies. Gives one sequence for each
 * element of the batch, one for rank 2. A time step without any number (all NaN) counts as blank. Throws
 * `invalid_argument` for other ranks, axes that are not there, and a blank that is not a class.
 */
export function ctcGreedyDecode(scores: Tensor, options: CtcOptions = {}): CtcSequence[] {
  const { blank = 0, timeAxis = -2, classAxis = -1 } = options;
  const { shape } = scores;
  if (shape.length !== 2 && shape.length !== 3) {
    throw invalid(`it got shape [${shape}]; expected [time, classes], or one axis more for a batch`);
  }
  const time = axisView(shape, timeAxis, "ctcGreedyDecode");
  const classes = axisView(shape, classAxis, "ctcGreedyDecode");
  if (time.axis === classes.axis) throw invalid(`timeAxis and classAxis are both ${time.axis}`);
  const blankClass = blank < 0 ? blank + classes.size : blank;
  if (!Number.isInteger(blank) || blankClass < 0 || blankClass >= classes.size) {
    throw invalid(`blank is ${blank}; expected one of ${classes.size} classes`);
  }
  const numbers = elementNumbers(scores, "ctcGreedyDecode");
  const batchAxis = [0, 1, 2].find((axis) => axis !== time.axis && axis !== classes.axis)!;
  const batch = shape.length === 2 ? { size: 1, innerCount: 0 } : axisView(shape, batchAxis, "ctcGreedyDecode");
  return Array.from({ length: batch.size }, (_, index) =>
    decode(numbers, {
      start: index * batch.innerCount,
      steps: time.size,
      stepStride: time.innerCount,
      classes: classes.size,
      classStride: classes.innerCount,
      blank: blankClass,
    }),
  );
}

interface Grid {
  readonly start: number;
  readonly steps: number;
  readonly stepStride: number;
  readonly classes: number;
  readonly classStride: number;
  readonly blank: number;
}

function decode(numbers: ArrayLike<number>, grid: Grid): CtcSequence {
  const sequence: CtcSequence = { classes: [], scores: [], steps: [] };
  let previous = grid.blank;
  for (let step = 0; step < grid.steps; step++) {
    const { best, score } = bestClass(numbers, grid.start + step * grid.stepStride, grid);
    if (best !== previous && best !== grid.blank) {
      sequence.classes.push(best);
      sequence.scores.push(score);
      sequence.steps.push(step);
    }
    previous = best;
  }
  return sequence;
}

function bestClass(numbers: ArrayLike<number>, start: number, { classes, classStride, blank }: Grid) {
  let best = blank;
  let score = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < classes; index++) {
    const value = numbers[start + index * classStride]!;
    if (value > score) [best, score] = [index, value];
  }
  return { best, score };
}

function invalid(problem: string): ServingError {
  return invalidArgument(`ctcGreedyDecode: ${problem}.`);
}
