import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { tableLines } from "../test/helpers/table.ts";
import { batching } from "./engine/batching.ts";
import type { BenchRun, Group } from "./engine/bench-run.ts";
import { convNet } from "./engine/conv-net.ts";
import { fairness } from "./engine/fairness.ts";
import { FIGURE_HEAD, type Figure, figureCells } from "./engine/figure.ts";
import { isolation } from "./engine/isolation.ts";
import { largeEcho } from "./engine/large-echo.ts";
import { memory } from "./engine/memory.ts";
import { metrics } from "./engine/metrics.ts";
import { recovery } from "./engine/recovery.ts";
import { reload } from "./engine/reload.ts";
import { responsiveness } from "./engine/responsiveness.ts";
import { rest } from "./engine/rest.ts";
import { stages } from "./engine/stages.ts";
import { start } from "./engine/start.ts";
import { tinyEcho } from "./engine/tiny-echo.ts";
import { LoadGenerator } from "./load/load-generator.ts";

const GROUPS: readonly Group[] = [
  tinyEcho,
  largeEcho,
  rest,
  convNet,
  stages,
  batching,
  fairness,
  responsiveness,
  reload,
  recovery,
  isolation,
  metrics,
  start,
  memory,
];

/** 20 rounds give an interval of the ninth to the twelfth value or wider; five show the direction. */
const ROUNDS = 20;
const QUICK_ROUNDS = 5;

/** Compares the engine's own time, in addition to a model's, with bare servers in the same run: one table. */
export async function runEngine(args: readonly string[]): Promise<void> {
  const { quick, only } = parseArgs({ args: [...args], options: OPTIONS }).values;
  endChildrenOnSignal();
  const load = await LoadGenerator.start();
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const groups = GROUPS.filter(({ name }) => only === undefined || name.includes(only));
  const figures: Figure[] = [];
  for (const group of groups) {
    const say = (what: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${group.name}: ${what}`);
    figures.push(...(await runGroup(group, { rounds, isQuick: quick, load, say })));
  }
  load.stop();
  printTable(figures, rounds);
}

const OPTIONS = { quick: { type: "boolean", default: false }, only: { type: "string" } } as const;

async function runGroup(group: Group, bench: BenchRun): Promise<readonly Figure[]> {
  bench.say("starting");
  return group.run(bench);
}

function printTable(figures: readonly Figure[], rounds: number): void {
  const [{ model = "unknown processor" } = {}] = cpus();
  console.log(`
Node ${process.version}, ${cpus().length} cores (${model.trim()}), shared with the load generator, which is a process of its own
and checks the status and the bytes of every answer. Medians of ${rounds} rounds, the sides in alternating order; a figure is made of
each round's pair. The interval is the sign test's for the median (95 %; 93.75 % with 5 rounds, where it is the whole range); a target is met when the interval reaches it.
One instance of each model, and the threads that the case names.
`);
  for (const line of tableLines([FIGURE_HEAD, ...figures.map(figureCells)])) console.log(line);
}
