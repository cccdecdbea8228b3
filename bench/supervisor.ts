import { setTimeout } from "node:timers/promises";
import { openMark } from "../src/models/run-mark.ts";
import { cellOf, RunMarks } from "../src/platform/processes/run-marks.ts";
import { pssMb } from "../test/helpers/process-usage.ts";
import { alternate } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { startKserving } from "./engine/servers.ts";
import { timeToReady } from "./engine/start.ts";
import { makeDenseNet } from "./models.ts";
import { printFigures } from "./print-figures.ts";

const RUNS = 1_000_000;
const SETTLED_MS = 4000;
const ALONE = ["--no-supervisor"];

/** Measures the supervisor beside a server without one: its marks, the start, the memory. */
export async function runSupervisor(args: readonly string[]): Promise<void> {
  const rounds = args.includes("--quick") ? 5 : 20;
  const model = ["--model-path", makeDenseNet("tiny-MLP", [16, 32, 8]), "--threads", "1"];
  const marks = await alternate(rounds, await markedRuns());
  const starts = await alternate(rounds, {
    supervised: () => timeToReady(model),
    alone: () => timeToReady([...model, ...ALONE]),
  });
  const memory = await alternate(Math.min(rounds, 5), {
    supervised: () => restingMb(model),
    alone: () => restingMb([...model, ...ALONE]),
  });
  const figures: Figure[] = [
    { name: "marks of a run", unit: "µs", target: { atMost: 0.2 }, ...difference(marks.marked, marks.bare) },
    { name: "start to ready", unit: "ms", target: { atMost: 50 }, ...difference(starts.supervised, starts.alone) },
    { name: "idle PSS", unit: "MB", target: { atMost: 15 }, ...difference(memory.supervised, memory.alone) },
  ];
  printFigures(figures, rounds, "Each figure is what the supervisor adds.");
}

/** A loop with the two marks of each run, and the same loop without; microseconds a run. */
async function markedRuns() {
  const marks = RunMarks.open();
  marks.take(1, { key: "00".repeat(20), name: "bench", deaths: 0 });
  const mark = await openMark({ fd: marks.fd, cell: cellOf(1) }, { debug: () => {} });
  const none = { begin: () => {}, end: () => {} };
  const time = ({ begin, end } = none) => {
    const began = performance.now();
    for (let run = 0; run < RUNS; run++) {
      begin();
      end();
    }
    return ((performance.now() - began) * 1000) / RUNS;
  };
  return { marked: async () => time(mark), bare: async () => time() };
}

async function restingMb(args: readonly string[]): Promise<number> {
  const server = await startKserving(args);
  await setTimeout(SETTLED_MS);
  const memory = pssMb(server.pid);
  await server.stop();
  return memory;
}

function difference(ours: readonly number[], bare: readonly number[]): Pick<Figure, "values" | "ours" | "ceiling"> {
  const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!.toFixed(2);
  return {
    values: ours.map((value, round) => value - bare[round]!),
    ours: middle(ours),
    ceiling: `alone: ${middle(bare)}`,
  };
}
