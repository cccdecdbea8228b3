import { toColumns } from "../../platform/text/terminal.ts";
import { type Goal, meets } from "../benchmark/bench-flags.ts";
import { msText, rateText } from "../benchmark/bench-table.ts";
import { failureCount, type Latencies, type LevelResult } from "../benchmark/measure/level.ts";
import { type Candidate, candidateText } from "./candidate.ts";
import type { TuningOutcome } from "./run-tuning.ts";
import { type TunedModel, toCommand, toConfig } from "./to-config.ts";
import { bestLevel, DEFAULT_FIGURE, nearestTrial, type Trial } from "./trial.ts";

/** The outcome of a search for people: the best trade-offs, what to paste, and what could not be tried. */
export function toTuningLines(outcome: TuningOutcome, model: TunedModel, goal: Goal | undefined): string[] {
  const { trials, untried } = outcome;
  const points = paretoPoints(trials, goal?.figure ?? DEFAULT_FIGURE);
  const problems = trials.flatMap(({ candidate, problem }) =>
    problem === undefined ? [] : [`not tried: ${candidateText(candidate)}: ${problem}`],
  );
  const failing = trials.flatMap(({ candidate, levels }) =>
    levels.flatMap((level) => failureLine(candidateText(candidate), level)),
  );
  const late = untried.map((candidate) => `no time for: ${candidateText(candidate)} (--time gives more)`);
  return [
    ...toTable(outcome, points, goal),
    "",
    ...verdict(outcome, model, goal),
    ...blank([...problems, ...failing, ...late]),
  ];
}

/** A load under which requests failed is not in the table. */
function failureLine(candidate: string, level: LevelResult): string[] {
  const [reason] = Object.keys(level.failures);
  if (reason === undefined) return [];
  return [`failed: ${candidate}: ${failureCount(level)} requests at concurrency ${level.concurrency}: ${reason}`];
}

function blank(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", ...lines];
}

/** The best points, and that of the defaults to compare with. */
function toTable({ trials }: TuningOutcome, points: readonly Point[], goal: Goal | undefined): string[] {
  const [defaults] = trials;
  const level = defaults && (bestLevel(defaults, goal) ?? defaults.levels[0]);
  const isThere = points.some((point) => point.level === level);
  const own =
    defaults === undefined || level === undefined || isThere ? [] : [{ candidate: defaults.candidate, level }];
  const rows = [...points, ...own].map((point) => [
    candidateText(point.candidate) + (point.candidate === defaults?.candidate ? " (default)" : ""),
    ...toCells(point, goal),
  ]);
  const names = ["Setting", "Concurrency", "Requests/s", "p50 ms", "p90 ms", "p99 ms"];
  return toColumns([goal === undefined ? names : [...names, goal.text], ...rows]);
}

function toCells({ level }: Point, goal: Goal | undefined): string[] {
  const { concurrency, requestsPerSecond, latencyMs } = level;
  const latencies = [latencyMs?.p50, latencyMs?.p90, latencyMs?.p99].map(msText);
  const met = goal === undefined ? [] : [meets(level, goal) ? "met" : "missed"];
  return [String(concurrency), rateText(requestsPerSecond), ...latencies, ...met];
}

function verdict(outcome: TuningOutcome, model: TunedModel, goal: Goal | undefined): string[] {
  const { trials, best, confirmation } = outcome;
  if (best === undefined) return nothingMeets(outcome, goal);
  const isDefault = best === trials[0];
  if (isDefault) return [praiseDefaults(outcome)];
  const { candidate } = best;
  const gain =
    confirmation && `, ${rateText(confirmation.after)} requests/s instead of ${rateText(confirmation.before)}`;
  return [
    `Best: ${candidateText(candidate)}${gain ?? ""}. In a configuration file:`,
    "",
    ...toConfig(model, candidate),
    "",
    "or as a command:",
    "",
    toCommand(model, candidate),
    ...(candidate.options.max_batch_size === undefined ? [] : ["", BATCH_NOTE]),
    ...(confirmation?.hasMissed && goal ? ["", `${goal.text} is close: it was missed when measured again.`] : []),
  ];
}

/** Names the defaults best only as far as others were tried. */
function praiseDefaults({ trials, untried, confirmation }: TuningOutcome): string {
  if (confirmation !== undefined) {
    const { candidate, problem = "has brought no more when measured again" } = confirmation;
    return `The defaults are best: ${candidateText(candidate)} ${problem.replace(/\.$/, "")}.`;
  }
  if (untried.length === 0) return "The defaults are best.";
  const hasOthers = trials.slice(1).some(({ levels }) => levels.length > 0);
  return hasOthers
    ? "The defaults are best of what there was time for."
    : "There was time for the defaults alone; give more by --time.";
}

const BATCH_NOTE =
  "max_batch_size runs rows of several requests at once: only for models whose rows do not depend on each other.";

function nothingMeets({ trials }: TuningOutcome, goal: Goal | undefined): string[] {
  const nearest = goal && nearestTrial(trials, goal);
  if (goal === undefined || nearest === undefined) return ["Nothing was measured."];
  const figures = nearest.levels.map(({ latencyMs }) => latencyMs?.[goal.figure] ?? Number.POSITIVE_INFINITY);
  const { candidate } = nearest;
  return [
    `Nothing meets ${goal.text}; the nearest is ${candidateText(candidate)} with ${msText(Math.min(...figures))} ms.`,
  ];
}

/** A candidate under one load. */
interface Point {
  readonly candidate: Candidate;
  readonly level: LevelResult;
}

/** The points without failures that no other exceeds in throughput at no higher latency, from the lowest latency up. */
export function paretoPoints(trials: readonly Trial[], figure: keyof Latencies): readonly Point[] {
  const points = trials.flatMap(({ candidate, levels }) => levels.map((level) => ({ candidate, level })));
  const latency = ({ level }: Point) => level.latencyMs?.[figure] ?? Number.POSITIVE_INFINITY;
  const sorted = points
    .filter((point) => Number.isFinite(latency(point)) && failureCount(point.level) === 0)
    .sort((a, b) => latency(a) - latency(b) || b.level.requestsPerSecond - a.level.requestsPerSecond);
  let most = 0;
  return sorted.filter(({ level }) => {
    const isMore = level.requestsPerSecond > most;
    most = Math.max(most, level.requestsPerSecond);
    return isMore;
  });
}
