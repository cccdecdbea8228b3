import type { LoadResult, LoadTarget } from "../load/load-job.ts";
import { type BenchRun, type Group, paired, throughputRatios } from "./bench-run.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcTarget, holds, predictMessage } from "./messages.ts";
import { perSecond, race, typicalMs } from "./race.ts";
import { type BenchServer, benchFile, startKserving } from "./servers.ts";

const ECHO = ["--driver", benchFile("echo-driver.ts"), "--model-path", "none"];
const FIRST_VALUES = ["--driver", benchFile("first-values-driver.ts"), "--model-path", "none"];
const TINY = floats(16);
/** One picture of 224 x 224 in float32: 602 KB. */
const PICTURE = floats(150_528);

/** A request to a model in a thread and to the same model in a process. */
interface Case {
  readonly what: string;
  readonly args: readonly string[];
  readonly message: Buffer;
  readonly check: Parameters<typeof grpcTarget>[2];
  /** Goal of the median latency, 1 in flight: milliseconds more, or times as much. */
  readonly goal: { readonly moreMs: number } | { readonly times: number };
}

const CASES: readonly Case[] = [
  {
    what: "16 floats there and back",
    args: ECHO,
    message: predictMessage([1, 16], TINY),
    check: (outputs) => holds(outputs, TINY),
    goal: { moreMs: 0.1 },
  },
  {
    what: "602 KB there, 4 KB back",
    args: FIRST_VALUES,
    message: predictMessage([1, 224, 224, 3], PICTURE),
    check: ({ y }) => y?.data.length === 1000,
    goal: { times: 1.3 },
  },
  {
    what: "602 KB there and back",
    args: ECHO,
    message: predictMessage([1, 224, 224, 3], PICTURE),
    check: (outputs) => holds(outputs, PICTURE),
    goal: { times: 1.3 },
  },
];

type Side = "thread" | "isolated";
type Results = Readonly<Record<Side, readonly LoadResult[]>>;

/** Cost of `--isolate`: models in processes beside the same models in threads. */
export const isolation: Group = {
  name: "isolated models",
  run: async (bench) => {
    const figures: Figure[] = [];
    for (const each of CASES) figures.push(...(await measure(bench, each)));
    return figures;
  },
};

async function measure(bench: BenchRun, each: Case): Promise<Figure[]> {
  const servers: Readonly<Record<Side, BenchServer>> = {
    thread: await startKserving(each.args),
    isolated: await startKserving([...each.args, "--isolate"]),
  };
  const targets: Readonly<Record<Side, LoadTarget>> = {
    thread: await grpcTarget(servers.thread.grpcPort, each.message, each.check),
    isolated: await grpcTarget(servers.isolated.grpcPort, each.message, each.check),
  };
  bench.say(each.what);
  const alone = await race(bench, targets, { connections: 1, inFlight: 1, seconds: 0.7 });
  const many = await race(bench, targets, { connections: 4, inFlight: 16, seconds: 0.7 });
  for (const server of Object.values(servers)) await server.stop();
  return [latency(each, alone), throughput(each, many)];
}

function latency({ what, goal }: Case, { thread, isolated }: Results): Figure {
  const common = {
    name: `${what}, 1 in flight, p50 isolated against in a thread`,
    ours: typicalMs(isolated),
    ceiling: `${typicalMs(thread)} in a thread`,
  };
  return "moreMs" in goal
    ? {
        ...common,
        values: paired(isolated, thread, (a, b) => a.p50Ms - b.p50Ms),
        unit: "ms",
        target: { atMost: goal.moreMs },
      }
    : {
        ...common,
        values: paired(isolated, thread, (a, b) => a.p50Ms / b.p50Ms),
        unit: "×",
        target: { atMost: goal.times },
      };
}

function throughput({ what }: Case, { thread, isolated }: Results): Figure {
  return {
    name: `${what}, 16 in flight over 4 connections, throughput isolated against in a thread`,
    ours: perSecond(isolated),
    ceiling: `${perSecond(thread)} in a thread`,
    values: throughputRatios(isolated, thread),
    unit: "×",
  };
}
