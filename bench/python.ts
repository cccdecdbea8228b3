import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Model, PartsModel } from "../src/drivers/driver.ts";
import { parseOptions } from "../src/drivers/option-table.ts";
import pytorch from "../src/drivers/pytorch.ts";
import { createSilentLogger } from "../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../src/tensor/signature/signature.ts";
import { createTensor, createTensors, elementCount } from "../src/tensor/tensor.ts";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { alternate, paired } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { median, runLoad } from "./load.ts";
import { printFigures } from "./print-figures.ts";
import { PYTHON, type PythonSide, type PythonTimes, startPythonSide } from "./python-side.ts";

/** Answer of python_side.py: times, and the shapes of the models that it made. */
interface Answer extends PythonTimes {
  readonly shapes: Readonly<Record<Case["file"], readonly number[]>>;
}

interface Bench {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly python: PythonSide<Answer>;
}

interface Case {
  readonly name: string;
  readonly file: "tiny" | "large" | "conv";
  /** Our time beyond Python's, of both medians in milliseconds. */
  readonly combine: (ours: number, theirs: number) => number;
  readonly unit: Figure["unit"];
  readonly atMost: number;
}

const over = (ours: number, theirs: number) => ours - theirs;
const CASES: readonly Case[] = [
  { name: "tiny model", file: "tiny", combine: (a, b) => 1000 * over(a, b), unit: "µs", atMost: 150 },
  { name: "602 KB in, 4 KB out", file: "large", combine: over, unit: "ms", atMost: 0.5 },
  { name: "conv net of 20 ms", file: "conv", combine: (a, b) => 100 * (a / b - 1), unit: "%", atMost: 3 },
];

/** The pytorch driver at `Model.predict` beside the same forward in Python, one caller, one thread, in the same run. */
export async function runPython(args: readonly string[]): Promise<void> {
  const { quick } = parseArgs({ args: [...args], options: { quick: { type: "boolean", default: false } } }).values;
  endChildrenOnSignal();
  const folder = mkdtempSync(join(tmpdir(), "kserving-bench-"));
  const python = startPythonSide<Answer>("python/python_side.py", [], "torch");
  const { shapes } = await python.ask({ make: folder });
  const bench = { folder, rounds: quick ? 5 : 20, seconds: quick ? 0.5 : 1, python };
  const figures: Figure[] = [];
  for (const each of CASES) figures.push(await measure(each, shapes[each.file], bench));
  figures.push(await startFigure(bench), await delayFigure(bench));
  python.stop();
  rmSync(folder, { recursive: true });
  printFigures(
    figures,
    bench.rounds,
    "Latencies are p50; the last row is the 99th percentile of the event loop's delay.",
  );
}

async function measure(
  { name, file, combine, unit, atMost }: Case,
  shape: readonly number[],
  { folder, rounds, seconds, python }: Bench,
): Promise<Figure> {
  const path = join(folder, `${file}.pt`);
  const model = await load(path);
  await python.ask({ load: path, shape });
  const sides = {
    ours: async () => (await runLoad(caller(model, shape), { inFlight: 1, seconds })).p50Ms,
    python: async () => (await python.ask({ seconds })).p50Ms,
  };
  for (const side of Object.values(sides)) await side();
  const results = await alternate(rounds, sides);
  await model.close();
  return {
    name,
    ours: `${median(results.ours).toFixed(3)} ms`,
    ceiling: `${median(results.python).toFixed(3)} ms Python`,
    values: paired(results.ours, results.python, combine),
    unit,
    target: { atMost },
  };
}

/** From nothing to a model that can predict, beside an interpreter that imports torch and ends. */
async function startFigure({ folder, rounds }: Bench): Promise<Figure> {
  const sides = {
    ours: async () => {
      const started = performance.now();
      const model = await load(join(folder, "tiny.pt"));
      const took = performance.now() - started;
      await model.close();
      return took;
    },
    python: async () => {
      const print = "import time; t = time.perf_counter(); import torch; print(time.perf_counter() - t)";
      return 1000 * Number(execFileSync(PYTHON, ["-c", print]).toString());
    },
  };
  for (const side of Object.values(sides)) await side();
  const results = await alternate(Math.min(rounds, 10), sides);
  return {
    name: "start",
    ours: `${median(results.ours).toFixed(0)} ms`,
    ceiling: `${median(results.python).toFixed(0)} ms import torch`,
    values: paired(results.ours, results.python, over),
    unit: "ms",
    target: { atMost: 300 },
  };
}

/** Delay that the main thread, in which the driver lives, causes to others while tensors of 38 MB go to and fro. */
async function delayFigure({ folder, seconds }: Bench): Promise<Figure> {
  const shape = [64, 3, 224, 224];
  const model = await load(join(folder, "tiny.pt"));
  const { call } = model.hookArgs!.model as { call(method: string, args: readonly unknown[]): Promise<unknown> };
  const tensor = createTensor("float32", shape, new Float32Array(elementCount(shape)));
  const idle = await delayOf(() => setTimeout(1), seconds);
  const ours = await delayOf(() => call("type", [tensor]).catch(() => {}), seconds);
  await model.close();
  const figure = { values: [ours.p99Ms - idle.p99Ms], unit: "ms" } as const;
  const told = ({ p99Ms, maxMs }: Delay) => `${p99Ms.toFixed(1)}, at most ${maxMs.toFixed(1)} ms`;
  return { name: "delay of the main thread, 38 MB in", ours: told(ours), ceiling: `${told(idle)} idle`, ...figure };
}

interface Delay {
  readonly p99Ms: number;
  readonly maxMs: number;
}

async function delayOf(work: () => Promise<unknown>, seconds: number): Promise<Delay> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await runLoad(async () => void (await work()), { inFlight: 1, seconds });
  delay.disable();
  return { p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 };
}

function load(path: string): Promise<Model | PartsModel> {
  const options = parseOptions(pytorch.options, { python: PYTHON, threads: "1" });
  return pytorch.load(path, options, { log: createSilentLogger(), threads: 1 });
}

function caller(model: Model | PartsModel, shape: readonly number[]): () => Promise<void> {
  const [name = "input"] = Object.keys(model.hookArgs?.model_inputs as object);
  const tensor = createTensor("float32", shape, new Float32Array(elementCount(shape)).fill(0.5));
  const inputs = createTensors([[name, tensor]]);
  const { signal } = new AbortController();
  return async () => void (await model.predict?.(inputs, { signature: DEFAULT_SIGNATURE, signal }));
}
