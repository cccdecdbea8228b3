import { median } from "../load.ts";
import { makeDenseNet } from "../models.ts";
import { cpuRace, typicalUs } from "../native/cpu-race.ts";
import { type BenchRun, type Group, paired } from "./bench-run.ts";
import { countingFigures } from "./counting.ts";
import type { CpuTurn } from "./cpu-turn.ts";
import type { Figure } from "./figure.ts";
import { floats, grpcTarget, predictMessage } from "./messages.ts";
import { startKserving } from "./servers.ts";

/** Share of the throughput of tiny requests that all of metrics may cost. */
const MOST = 0.03;
const MESSAGE = predictMessage([1, 16], floats(16));
const PRESS = { connections: 8, inFlight: 32, requests: 20_000 };

/**
 * Cost of metrics: a server that counts requests beside one without HTTP, over which
 * alone they are read, and which counts none.
 */
export const metrics: Group = {
  name: "metrics",
  run: async (bench) => {
    const cases = {
      "null driver, inline": ["--driver", "null"],
      "tiny ONNX model": ["--model-path", makeDenseNet("tiny-MLP", [16, 32, 8])],
    };
    const figures: Figure[] = [];
    for (const [what, args] of Object.entries(cases)) figures.push(...(await measure(bench, what, args)));
    return [...figures, ...countingFigures(bench.rounds)];
  },
};

async function measure(bench: BenchRun, what: string, args: readonly string[]): Promise<Figure[]> {
  const servers = {
    counting: await startKserving(args),
    silent: await startKserving(args, [], { hasHttp: false }),
  };
  const sideOf = async ({ pid, grpcPort }: (typeof servers)["silent"]) => ({
    pid,
    target: await grpcTarget(grpcPort, MESSAGE, (outputs) => Object.keys(outputs).length === 1),
  });
  const sides = { counting: await sideOf(servers.counting), silent: await sideOf(servers.silent) };
  bench.say(what);
  const turns = await cpuRace(bench, sides, PRESS);
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  return toFigures(what, turns);
}

function toFigures(
  what: string,
  { counting, silent }: Readonly<Record<"counting" | "silent", readonly CpuTurn[]>>,
): Figure[] {
  return [
    {
      name: `${what}, gRPC, 32 in flight, throughput with metrics`,
      ours: typicalRate(counting),
      ceiling: `${typicalRate(silent)} without`,
      unit: "×",
      values: paired(counting, silent, (a, b) => a.rate / b.rate),
      target: { atLeast: 1 - MOST },
    },
    {
      name: `${what}, gRPC, 32 in flight, CPU with metrics`,
      ours: typicalUs(counting),
      ceiling: `${typicalUs(silent)} without`,
      unit: "×",
      values: paired(counting, silent, (a, b) => a.cpuUs / b.cpuUs),
      target: { atMost: 1 + MOST },
    },
  ];
}

function typicalRate(turns: readonly CpuTurn[]): string {
  return `${median(turns.map(({ rate }) => rate)).toFixed(0)}/s`;
}
