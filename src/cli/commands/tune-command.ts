import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { driversFor } from "../../drivers/drivers-for.ts";
import { failedPrecondition } from "../../errors.ts";
import { printable } from "../../platform/text/terminal.ts";
import { type Goal, parseGoal } from "../../tools/benchmark/bench-flags.ts";
import { type Candidate, candidateText } from "../../tools/tuning/candidate.ts";
import { runTuning, type TuningOutcome } from "../../tools/tuning/run-tuning.ts";
import type { TunedModel } from "../../tools/tuning/to-config.ts";
import { toTuningLines } from "../../tools/tuning/tuning-lines.ts";
import { openBenchTarget } from "../benchmark/open-bench-target.ts";
import { progressText } from "../benchmark/progress-text.ts";
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
