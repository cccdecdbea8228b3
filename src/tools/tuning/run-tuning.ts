import { reasonText } from "../../errors.ts";
import { type Goal, meets } from "../benchmark/bench-flags.ts";
import type { BenchTarget } from "../benchmark/bench-target.ts";
import { failureCount, type Level, type LevelResult } from "../benchmark/measure/level.ts";
import { measureLevel } from "../benchmark/measure/measure-level.ts";
import type { Window } from "../benchmark/measure/window.ts";
import { type Candidate, candidateText, VARIATIONS } from "./candidate.ts";
import { bestLevel, bestTrial, nearestTrial, type Trial } from "./trial.ts";

/** A search for the best way to serve a model. */
interface Tuning extends TrialContext {
  /** Drivers to try, the default first. */
  readonly drivers: readonly string[];
  readonly cores: number;
  /** Time for all trials but the last check. */
  readonly seconds: number;
}

/** Outcome of a search. */
export interface TuningOutcome {
  /** In the order in which they were tried, the defaults first. */
  readonly trials: readonly Trial[];
  /** The defaults if the confirmation has not borne out another; undefined if nothing meets the goal. */
  readonly best: Trial | undefined;
  /** One that seemed best, measured again in turn with the defaults; absent if these are, or time was out. */
  readonly confirmation?: Confirmation;
  /** Candidates for which there was no time. */
  readonly untried: readonly Candidate[];
}

/**
 * Tries the drivers, then variations of the best, or of the nearest if none meets the goal; the result so far
 * once its signal aborts or the time is over. Never rejects for a candidate.
 */
export async function runTuning(tuning: Tuning): Promise<TuningOutcome> {
  const { trials, untried, best } = await searchInTime(tuning);
  const [defaults] = trials;
  if (best === undefined || defaults === undefined || best === defaults || tuning.signal.aborted)
    return { trials, best, untried };
  const confirmation = await confirmGain(defaults, best, tuning);
  if (confirmation === undefined) return { trials, best, untried };
  return { trials, best: isGain(confirmation) ? best : defaults, untried, confirmation };
}

async function searchInTime(tuning: Tuning): Promise<Search> {
  const time = new AbortController();
  const end = () => time.abort();
  const timer = setTimeout(end, tuning.seconds * 1000);
  tuning.signal.addEventListener("abort", end);
  const search = new Search({ ...tuning, signal: time.signal });
  try {
    await search.tryAll(tuning.drivers.map((driver) => ({ driver, options: {} })));
    for (const vary of VARIATIONS) {
      const { best, nearest } = search;
      // If one request at a time misses the goal, a batch of them does.
      const canBatch = search.canBatch && best !== undefined;
      const from = best ?? nearest;
      if (from !== undefined) await search.tryAll(vary(from.candidate, { cores: tuning.cores, canBatch }));
    }
    return search;
  } finally {
    clearTimeout(timer);
    tuning.signal.removeEventListener("abort", end);
  }
}

/** The trials of a search. */
class Search {
  readonly trials: Trial[] = [];
  readonly untried: Candidate[] = [];
  /** True if requests can be put together into a batch. */
  canBatch = false;
  readonly #context: TrialContext;
  readonly #known = new Set<string>();

  constructor(context: TrialContext) {
    this.#context = context;
  }

  get best(): Trial | undefined {
    return bestTrial(this.trials, this.#context.goal);
  }

  /** The one from which a goal that none meets is least far. */
  get nearest(): Trial | undefined {
    const { goal } = this.#context;
    return goal && nearestTrial(this.trials, goal);
  }

  async tryAll(candidates: readonly Candidate[]): Promise<void> {
    for (const candidate of candidates) {
      const name = candidateText(candidate);
      if (this.#known.has(name)) continue;
      this.#known.add(name);
      const trial = this.#isOver ? undefined : await tryCandidate(candidate, this.#context, this.#onOpen);
      // One that the end of the time has cut short may have had no chance.
      if (trial === undefined || (this.#isOver && trial.levels.length === 0)) this.untried.push(candidate);
      else this.trials.push(trial);
    }
  }

  get #isOver(): boolean {
    return this.#context.signal.aborted;
  }

  readonly #onOpen = ({ hasOpenRows }: BenchTarget) => {
    this.canBatch = hasOpenRows;
  };
}

/** Two candidates that were measured again, in turn, so that neither had the better minute of the machine. */
interface Confirmation {
  /** The one that had been best. */
  readonly candidate: Candidate;
  /** Requests per second of the defaults, and of that one. */
  readonly before: number;
  readonly after: number;
  /** The reason for which it is not best after all. */
  readonly problem?: string;
  /** True if it has missed the goal this time, which is close then. */
  readonly hasMissed: boolean;
}

const ROUNDS = 2;
/** Gain below which the defaults are as good: single measurements differ by as much. */
const MIN_GAIN = 1.05;

/** Checks if a gain is large enough to be one, and without a problem. */
function isGain({ before, after, problem }: Pick<Confirmation, "before" | "after" | "problem">): boolean {
  return problem === undefined && after >= MIN_GAIN * before;
}

/**
 * Measures both at their best loads again; undefined if the defaults have none within the goal or fail this time, or
 * it was cut short.
 */
async function confirmGain(defaults: Trial, best: Trial, context: TrialContext): Promise<Confirmation | undefined> {
  const sides = [defaults, best].map((trial) => ({ trial, level: bestLevel(trial, context.goal), sum: 0 }));
  let hasMissed = false;
  for (let round = 0; round < ROUNDS; round++)
    for (const side of sides) {
      if (side.level === undefined) return undefined;
      const { candidate } = side.trial;
      const again = await measureCandidate(candidate, side.level.concurrency, context);
      if (context.signal.aborted) return undefined;
      const [level] = again.levels;
      const problem = problemOf(again);
      if (problem !== undefined)
        return side.trial === best ? { candidate, ...sumsOf(sides), problem, hasMissed } : undefined;
      if (level === undefined) return undefined;
      hasMissed ||= side.trial === best && bestLevel(again, context.goal) === undefined;
      side.sum += level.requestsPerSecond / ROUNDS;
    }
  return { candidate: best.candidate, ...sumsOf(sides), hasMissed };
}

function sumsOf([defaults, best]: readonly { readonly sum: number }[]): { before: number; after: number } {
  return { before: defaults?.sum ?? 0, after: best?.sum ?? 0 };
}

function problemOf({ levels: [level], problem }: Trial): string | undefined {
  if (level === undefined) return `could not be served again: ${problem ?? "nothing was measured"}`;
  return failureCount(level) > 0 ? "had requests that failed when measured again" : undefined;
}

/** The way to serve candidates, and when to stop. */
interface TrialContext {
  readonly goal: Goal | undefined;
  /** Serves a candidate; rejects with the reason for which it cannot be served. */
  open(candidate: Candidate, signal: AbortSignal): Promise<BenchTarget>;
  readonly signal: AbortSignal;
  readonly onProgress: (candidate: Candidate, level: Level, windows: readonly Window[]) => void;
}

/** Short ones: a tuning compares many candidates, and measures the best again. */
const LENGTHS = { warmUpSeconds: 0.5, windowSeconds: 0.5, maxWindows: 6, threads: 1 };
/** Growth below which more requests at a time bring nothing. */
const MIN_GROWTH = 1.05;
const MAX_CONCURRENCY = 128;

/** Serves a candidate and doubles the load until that brings nothing, or misses the goal. `onOpen` sees its target. */
async function tryCandidate(
  candidate: Candidate,
  context: TrialContext,
  onOpen: (target: BenchTarget) => void = () => {},
): Promise<Trial> {
  return withTarget(candidate, context, async (target) => {
    onOpen(target);
    const levels: LevelResult[] = [];
    for (let concurrency = 1; concurrency <= MAX_CONCURRENCY && !context.signal.aborted; concurrency *= 2) {
      const result = await measure(candidate, target, concurrency, context);
      if (result.windows.length > 0) levels.push(result);
      if (isEnough(candidate, levels, context.goal)) break;
    }
    return levels;
  });
}

/** Serves a candidate and measures one load. */
async function measureCandidate(candidate: Candidate, concurrency: number, context: TrialContext): Promise<Trial> {
  return withTarget(candidate, context, async (target) => [await measure(candidate, target, concurrency, context)]);
}

async function withTarget(
  candidate: Candidate,
  { open, signal }: TrialContext,
  run: (target: BenchTarget) => Promise<readonly LevelResult[]>,
): Promise<Trial> {
  try {
    const target = await open(candidate, signal);
    return { candidate, levels: await run(target).finally(() => target.close()) };
  } catch (reason) {
    return { candidate, levels: [], problem: reasonText(reason).replace(/\s*\n\s*/g, " ") };
  }
}

function measure(
  candidate: Candidate,
  { load }: BenchTarget,
  concurrency: number,
  { signal, onProgress }: TrialContext,
): Promise<LevelResult> {
  const onLevel = (level: Level, windows: readonly Window[]) => onProgress(candidate, level, windows);
  return measureLevel(load, { concurrency }, { ...LENGTHS, signal, onProgress: onLevel });
}

function isEnough(
  { instances = 1, options }: Candidate,
  levels: readonly LevelResult[],
  goal: Goal | undefined,
): boolean {
  const last = levels.at(-1);
  if (last === undefined || failureCount(last) > 0 || (goal !== undefined && !meets(last, goal))) return true;
  // A batch needs that many waiting requests, and each copy one that runs.
  if (last.concurrency < 2 * Math.max(instances, Number(options.max_batch_size ?? 1))) return false;
  const before = Math.max(...levels.slice(0, -1).map(({ requestsPerSecond }) => requestsPerSecond));
  return last.requestsPerSecond < MIN_GROWTH * before;
}
