import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Model } from "../src/drivers/driver.ts";
import openvino from "../src/drivers/openvino/openvino.ts";
import { parseOptions, type RawOptions } from "../src/drivers/option-table.ts";
import { createSilentLogger } from "../src/observability/logger.ts";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { alternate } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { median } from "./load.ts";
import { printFigures } from "./print-figures.ts";
import { type PythonSide, startPythonSide } from "./python-side.ts";
import { type Pressed, press } from "./tensorflow/our-side.ts";

/** Our defaults, for Python's side. */
const DEFAULTS = { INFERENCE_PRECISION_HINT: "f32", ENABLE_CPU_PINNING: "NO" };

interface Bench {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly python: PythonSide;
}

/**
 * The openvino driver at `Model.predict` beside Python OpenVINO, which runs the same
 * models with the same settings in the same run.
 */
export async function runOpenvino(args: readonly string[]): Promise<void> {
  const { quick } = parseArgs({ args: [...args], options: { quick: { type: "boolean", default: false } } }).values;
  endChildrenOnSignal();
  const folder = mkdtempSync(join(tmpdir(), "kserving-bench-"));
  const python = startPythonSide("openvino/python_side.py", [], "openvino");
  await python.ask({ make: folder });
  const bench = { folder, rounds: quick ? 5 : 20, seconds: quick ? 0.5 : 1, python };
  const figures = [await oneCaller(bench), await twoStreams(bench), await tiny(bench), await cachedLoad(bench)];
  python.stop();
  rmSync(folder, { recursive: true });
  printFigures(figures, bench.rounds, "Latencies are p50.");
}

function loadModel(path: string, options: RawOptions): Promise<Model> {
  const host = { log: createSilentLogger(), threads: 1 };
  return openvino.load(path, parseOptions(openvino.options, options), host);
}

async function oneCaller({ folder, rounds, seconds, python }: Bench): Promise<Figure> {
  const path = join(folder, "convolutions.xml");
  const model = await loadModel(path, {});
  await python.ask({ load: path, config: { ...DEFAULTS, INFERENCE_NUM_THREADS: 1 } });
  const { ours, theirs } = await compare(rounds, {
    ours: () => press(model, { seconds, callers: 1 }),
    theirs: () => python.ask({ seconds }),
  });
  await model.close();
  return latencyFigure("convolutions, f32, 1 thread, 1 caller", { ours, theirs }, 1.03);
}

async function twoStreams({ folder, rounds, seconds, python }: Bench): Promise<Figure> {
  const path = join(folder, "convolutions.xml");
  const model = await loadModel(path, { num_streams: "2" });
  await python.ask({ load: path, config: { ...DEFAULTS, INFERENCE_NUM_THREADS: 2, NUM_STREAMS: 2 } });
  const { ours, theirs } = await compare(rounds, {
    ours: () => press(model, { seconds, callers: 4 }),
    theirs: () => python.ask({ seconds, queue: 2 }),
  });
  await model.close();
  return {
    name: "convolutions, f32, 2 streams",
    ours: rate(ours),
    ceiling: `${rate(theirs)} AsyncInferQueue`,
    values: ours.map(({ perSecond }, round) => perSecond / (theirs[round] as Pressed).perSecond),
    unit: "×",
    target: { atLeast: 0.95 },
  };
}

async function tiny({ folder, rounds, seconds, python }: Bench): Promise<Figure> {
  const path = join(folder, "tiny.xml");
  const model = await loadModel(path, {});
  await python.ask({ load: path, config: { ...DEFAULTS, INFERENCE_NUM_THREADS: 1 } });
  const { ours, theirs } = await compare(rounds, {
    ours: () => press(model, { seconds, callers: 1 }),
    theirs: () => python.ask({ seconds }),
  });
  await model.close();
  const us = (results: readonly Pressed[]) => `${(1000 * median(results.map(({ p50Ms }) => p50Ms))).toFixed(1)} µs`;
  return {
    name: "tiny model",
    ours: us(ours),
    ceiling: `${us(theirs)} Python`,
    values: ours.map(({ p50Ms }) => 1000 * p50Ms),
    unit: "µs",
    target: { atMost: 30 },
  };
}

/** Each side with a cache that its own first load has filled. */
async function cachedLoad({ folder, rounds, python }: Bench): Promise<Figure> {
  const path = join(folder, "convolutions.xml");
  const sides = {
    ours: async () => {
      const started = performance.now();
      const model = await loadModel(path, { cache_dir: join(folder, "ours") });
      const took = performance.now() - started;
      await model.close();
      return took;
    },
    theirs: async () => {
      const config = { ...DEFAULTS, INFERENCE_NUM_THREADS: 1, CACHE_DIR: join(folder, "theirs") };
      return (await python.ask({ load: path, config })).ms;
    },
  };
  for (const side of Object.values(sides)) await side();
  const { ours, theirs } = await alternate(rounds, sides);
  return {
    name: "load from the cache, beyond Python's",
    ours: `${median(ours).toFixed(0)} ms`,
    ceiling: `${median(theirs).toFixed(0)} ms Python`,
    values: ours.map((took, round) => took - (theirs[round] as number)),
    unit: "ms",
    target: { atMost: 50 },
  };
}

/** A side's first run warms it up and is not counted. */
async function compare(
  rounds: number,
  sides: Readonly<Record<"ours" | "theirs", () => Promise<Pressed>>>,
): Promise<Readonly<Record<"ours" | "theirs", Pressed[]>>> {
  for (const side of Object.values(sides)) await side();
  return alternate(rounds, sides);
}

function latencyFigure(
  name: string,
  { ours, theirs }: Readonly<Record<"ours" | "theirs", readonly Pressed[]>>,
  atMost: number,
): Figure {
  const ms = (results: readonly Pressed[]) => `${median(results.map(({ p50Ms }) => p50Ms)).toFixed(3)} ms`;
  const values = ours.map(({ p50Ms }, round) => p50Ms / (theirs[round] as Pressed).p50Ms);
  return { name, ours: ms(ours), ceiling: `${ms(theirs)} Python`, values, unit: "×", target: { atMost } };
}

function rate(results: readonly Pressed[]): string {
  return `${median(results.map(({ perSecond }) => perSecond)).toFixed(0)}/s`;
}
