import { reasonText } from "../../errors.ts";
import { type Goal, meets } from "../benchmark/bench-flags.ts";
import type { BenchTarget } from "../benchmark/bench-target.ts";
import { failureCount, type Level, type LevelResult } from "../benchmark/measure/level.ts";
import { measureLevel } from "../benchmark/measure/measure-level.ts";
import type { Window } from "../benchmark/measure/window.ts";
import type { Candidate } from "./candidate.ts";
import type { Trial } from "./trial.ts";

/** The way to serve candidates, and when to stop. */
export interface TrialContext {
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
export async function tryCandidate(
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
export async function measureCandidate(
  candidate: Candidate,
  concurrency: number,
  context: TrialContext,
): Promise<Trial> {
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
