import type { TensorSpec } from "../../tensor/signature/signature.ts";
import type { Tensors } from "../../tensor/tensor.ts";

/** Runs in the model's thread that have to be fast before one is made in the main thread. */
const TRIALS = 8;
/** Longest time of the fastest of them, in milliseconds: it has the thread's own turns in it. */
const TRIAL_MS = 0.5;
/** Requests that go to the model's thread after runs that were slow again and again, before others are tried. */
const FIRST_REST = 16;
const LONGEST_REST = 256;
/** A slow run after so many fast ones was probably interrupted by the system. */
const STEADY_RUNS = 4;

/** The times of runs with inputs of the same shapes, which decide where the next one is made. */
export class LaneShape {
  /** In the order of the model's inputs. */
  readonly shapes: readonly (readonly number[])[];
  readonly #specs: readonly TensorSpec[];
  #isFast = false;
  #expectedMs = 0;
  #fastRuns = 0;
  #rest = 0;
  #nextRest = FIRST_REST;
  #trials = 0;
  #fastestMs = Number.POSITIVE_INFINITY;

  /** `inputs` fit the specs. */
  constructor(specs: readonly TensorSpec[], inputs: Tensors) {
    this.#specs = specs;
    this.shapes = specs.map(({ name }) => [...inputs[name]!.shape]);
  }

  /** True while runs are made in the main thread. */
  get isFast(): boolean {
    return this.#isFast;
  }

  /** Time that the next run will take, in milliseconds. */
  get expectedMs(): number {
    return this.#expectedMs;
  }

  /** Checks that inputs have these shapes, and the dtypes of the specs; others are not looked at. */
  matches(inputs: Tensors): boolean {
    for (let index = 0; index < this.#specs.length; index++) {
      const { name, dtype } = this.#specs[index]!;
      const tensor = inputs[name];
      if (tensor?.dtype !== dtype || !areEqual(tensor.shape, this.shapes[index]!)) return false;
    }
    return true;
  }

  /** True if the next run in the model's thread is to be timed. */
  isTrialDue(): boolean {
    if (this.#rest === 0) return this.#trials < TRIALS;
    this.#rest--;
    return false;
  }

  /** Notes a run in the model's thread; returns true, once, if runs may be tried in the main thread. */
  addTrial(ms: number): boolean {
    this.#trials++;
    this.#fastestMs = Math.min(this.#fastestMs, ms);
    if (this.#trials !== TRIALS) return false;
    const isPromising = this.#fastestMs <= TRIAL_MS;
    if (!isPromising) this.stop();
    return isPromising;
  }

  /** Lets runs be made in the main thread, if one took `ms`. */
  start(ms: number): void {
    this.#isFast = true;
    this.#expectedMs = ms;
    this.#fastRuns = 0;
  }

  /** Notes a fast run in the main thread. */
  addRun(ms: number): void {
    this.#expectedMs += (ms - this.#expectedMs) / 4;
    this.#fastRuns++;
  }

  /**
   * Ends the runs in the main thread. Returns true if they were fast until now, so that they may be measured again
   * at once; else they rest, the longer the more often they were slow.
   */
  stop(): boolean {
    const wasSteady = this.#fastRuns >= STEADY_RUNS;
    this.#isFast = false;
    this.#fastRuns = 0;
    this.#fastestMs = Number.POSITIVE_INFINITY;
    this.#rest = wasSteady ? 0 : this.#nextRest;
    this.#nextRest = wasSteady ? FIRST_REST : Math.min(2 * this.#nextRest, LONGEST_REST);
    this.#trials = wasSteady ? TRIALS : 0;
    return wasSteady;
  }
}

function areEqual(one: readonly number[], other: readonly number[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false;
  return true;
}
