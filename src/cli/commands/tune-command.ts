import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { driversFor } from "../../drivers/drivers-for.ts";
import { failedPrecondition } from "../../errors.ts";
import { printable, toColumns } from "../../platform/text/terminal.ts";
import { type Goal, meets, parseGoal } from "../../tools/benchmark/bench-flags.ts";
import { failureCount, type Latencies, type LevelResult } from "../../tools/benchmark/measure/level.ts";
import { msText, rateText } from "../../tools/benchmark/report.ts";
import { type Candidate, candidateText, type TunedModel, toCommand, toConfig } from "../../tools/tuning/candidate.ts";
import { runTuning, type TuningOutcome } from "../../tools/tuning/run-tuning.ts";
import { bestLevel, DEFAULT_FIGURE, nearestTrial, type Trial } from "../../tools/tuning/trial.ts";
import { openBenchTarget, progressText } from "../benchmark/open-bench-target.ts";
import { untilInterrupted } from "../lifecycle/until-interrupted.ts";
import { LiveLine } from "../live-line.ts";
import { modelName } from "../settings/model-name.ts";
import { parseOptionFlags } from "../settings/parse-option-flags.ts";
import {
  addModelFlags,
  collect,
  createParser,
  type ModelFlags,
  readCount,
  readSeconds,
  runParser,
} from "./create-parser.ts";
import { groupRefusals } from "./group-refusals.ts";
import { modelAddressAt, refuseServer } from "./server-addresses.ts";

const EPILOGUE = `
Examples:
  kserving tune emotion.onnx --goal p99=20ms
  kserving tune model.xml --driver openvino --time 60 --json

Tries the drivers that take the model, then threads and instances, batch sizes and options of the best. Each is served
in a process of its own under more and more load, over gRPC. The best is measured again in turn with the defaults. The
exit code is 1 where nothing meets the goal.
`;

interface TuneFlags extends Omit<ModelFlags, "driver"> {
  readonly goal?: string;
  readonly time: string;
  readonly driver: readonly string[];
  readonly input: readonly string[];
  readonly shape: readonly string[];
  readonly seed: string;
  readonly json?: boolean;
}

/** `kserving tune`: the way to serve a model best. Throws `failed_precondition` if nothing meets the goal. */
export async function tune(argv: readonly string[]): Promise<void> {
  await runParser(createTuneCommand(), argv);
}

/** The parser of `kserving tune`. */
export function createTuneCommand(): Command {
  const command = createParser("tune", {
    description: "Tries ways to serve a model, and prints the best trade-offs of throughput and latency.",
    epilogue: EPILOGUE,
  })
    .argument("<model>", "a model's file or folder")
    .option("--goal <figure=bound>", "latency to keep, such as p99=20ms (default: none, the most throughput)")
    .option("--time <seconds>", "time for the trials", "180")
    .option("--driver <name>", "driver to try; repeatable (default: all that take the model)", collect, [])
    .option("--input <[name=]value>", "value of an input, or @FILE, as for kserving infer; repeatable", collect, [])
    .option("--shape <name=sizes>", "shape of an input with random values; repeatable", collect, [])
    .option("--seed <number>", "seed of the random values", "0");
  return addModelFlags(command).option("--json", "print JSON").action(run);
}

async function run(path: string, flags: TuneFlags): Promise<void> {
  refuseServer(path, (server) => `kserving bench ${modelAddressAt(server)} measures a model that is served`);
  const goal = flags.goal === undefined ? undefined : parseGoal(flags.goal);
  const [seconds, seed] = [readSeconds("--time", flags.time), readCount("--seed", flags.seed, 0)];
  const model: TunedModel = {
    ...{ name: modelName(path), path, options: parseOptionFlags(flags.option, 1).shared },
    ...(flags.hooks !== undefined && { hooks: flags.hooks }),
  };
  const drivers = flags.driver.length > 0 ? flags.driver : await driversFor(path);
  await untilInterrupted(async (signal) => {
    const line = new LiveLine();
    const outcome = await runTuning({
      ...{ goal, seconds, drivers, signal, cores: availableParallelism() },
      open: (candidate, until) => open({ model, candidate, flags, seed, signal: until }),
      onProgress: (candidate, ...state) => line.show(() => `${candidateText(candidate)}: ${progressText(...state)}`),
    });
    line.clear();
    if (flags.json) console.log(toJson(outcome, goal));
    else if (outcome.trials.some(isServed)) console.log(printable(toTuningLines(outcome, model, goal).join("\n")));
    signal.throwIfAborted();
    if (outcome.best === undefined) throw failedPrecondition(failure(outcome, goal));
  }, "the figures are those measured until then");
}

interface Opening {
  readonly model: TunedModel;
  readonly candidate: Candidate;
  readonly flags: TuneFlags;
  readonly seed: number;
  readonly signal: AbortSignal;
}

function open({ model, candidate, flags, seed, signal }: Opening) {
  const { path, hooks } = model;
  return openBenchTarget({
    ...{ place: path, protocol: "grpc", encoding: "binary", connections: 1, signal },
    ...{ input: flags.input, shape: flags.shape, seed },
    model: {
      ...{ path, ...candidate, options: { ...model.options, ...candidate.options } },
      ...(hooks !== undefined && { hooks }),
    },
  });
}

function toJson({ trials, best, confirmation, untried }: TuningOutcome, goal: Goal | undefined): string {
  return JSON.stringify({ goal: goal?.text, best: best?.candidate, confirmation, trials, untried }, null, 2);
}

function failure({ trials }: TuningOutcome, goal: Goal | undefined): string {
  if (trials.some(isServed)) return goal ? `Nothing meets ${goal.text}.` : "Requests failed with every candidate.";
  if (trials.length === 0) return "There was no time for a trial; give more by --time.";
  const refusals = trials.map(({ candidate, problem = "" }) => ({ driver: candidate.driver, problem }));
  return `No driver runs the model; ${groupRefusals(refusals).join("; ")}`;
}

function isServed({ levels }: TuningOutcome["trials"][number]): boolean {
  return levels.length > 0;
}

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
