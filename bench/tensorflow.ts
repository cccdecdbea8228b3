import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endChildrenOnSignal } from "../test/helpers/children.ts";
import { pssMb } from "../test/helpers/process-usage.ts";
import { alternate } from "./engine/bench-run.ts";
import type { Figure } from "./engine/figure.ts";
import { median } from "./load.ts";
import { printFigures } from "./print-figures.ts";
import { type PythonSide, startPythonSide } from "./python-side.ts";
import { loadModel, type Pressed, predictTimes, press } from "./tensorflow/our-side.ts";

/** Callers of "four in flight", and the threads that Python is tried with. */
const CALLERS = 4;
const PYTHON_THREADS = [1, 2, 4];
/** Number of times that each of Python's settings is tried. */
const TRIES = 3;

interface Bench {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  /** With TensorFlow's default threads, and with those that suit many callers. */
  readonly python: PythonSide;
  readonly busyPython: PythonSide;
}

/**
 * The tensorflow driver at `Model.predict` beside Python TensorFlow, which calls the
 * same models' signatures in the same run.
 */
export async function runTensorflow(args: readonly string[]): Promise<void> {
  const { quick } = parseArgs({ args: [...args], options: { quick: { type: "boolean", default: false } } }).values;
  endChildrenOnSignal();
  const folder = mkdtempSync(join(tmpdir(), "kserving-bench-"));
  const python = startPython({ intra: 0, inter: 0 });
  const busyPython = startPython({ intra: 1, inter: cpus().length });
  await python.ask({ make: folder });
  const bench = { folder, rounds: quick ? 5 : 20, seconds: quick ? 0.5 : 1, python, busyPython };
  const figures = [...(await mobilenet(bench)), await dense(bench), await loads(bench), await growth(bench, quick)];
  for (const side of [python, busyPython]) side.stop();
  rmSync(folder, { recursive: true });
  printFigures(figures, bench.rounds, "Latencies are p50.");
}

async function mobilenet({ folder, rounds, seconds, python, busyPython }: Bench): Promise<Figure[]> {
  const path = join(folder, "mobilenet");
  const native = await loadModel(path, "native");
  const portable = await loadModel(path, "portable");
  for (const side of [python, busyPython]) await side.ask({ load: path });
  const alone = await compare(rounds, {
    native: () => press(native, { seconds, callers: 1 }),
    portable: () => press(portable, { seconds, callers: 1 }),
    python: () => python.ask({ seconds, threads: 1 }),
  });
  const best = await bestOfPython([python, busyPython], seconds);
  const busy = await compare(rounds, { native: () => press(native, { seconds, callers: CALLERS }), python: best });
  for (const model of [native, portable]) await model.close();
  return [
    latencyFigure("MobileNetV2, native, 1 caller", alone.native, { beside: alone.python, atMost: 1.05 }),
    throughputFigure(`MobileNetV2, native, ${CALLERS} in flight`, busy.native, busy.python),
    {
      ...latencyFigure("MobileNetV2, portable, 1 caller", alone.portable, { beside: alone.native, atMost: 3 }),
      ceiling: `${ms(alone.native)} native`,
    },
  ];
}

async function dense({ folder, rounds, seconds, python }: Bench): Promise<Figure> {
  const path = join(folder, "dense");
  const native = await loadModel(path, "native");
  await python.ask({ load: path });
  const results = await compare(rounds, {
    native: () => press(native, { seconds, callers: 1 }),
    python: () => python.ask({ seconds, threads: 1 }),
  });
  await native.close();
  return latencyFigure("small dense net, native, 1 caller", results.native, { beside: results.python, atMost: 0.6 });
}

/** Python TensorFlow with threads within and across operators as its configuration takes them; 0 = as many as cores. */
function startPython({ intra, inter }: { readonly intra: number; readonly inter: number }): PythonSide {
  return startPythonSide("tensorflow/python_side.py", [String(intra), String(inter)], "tensorflow");
}

/** A side's first run warms it up and is not counted. */
async function compare<Name extends string>(
  rounds: number,
  sides: Readonly<Record<Name, () => Promise<Pressed>>>,
): Promise<Readonly<Record<Name, Pressed[]>>> {
  for (const side of Object.values<() => Promise<Pressed>>(sides)) await side();
  return alternate(rounds, sides);
}

/**
 * The number of threads, and of Python's settings, that answer most requests: each is
 * tried as often as the others before one is chosen.
 */
async function bestOfPython(sides: readonly PythonSide[], seconds: number): Promise<() => Promise<Pressed>> {
  const candidates = sides.flatMap((side) => PYTHON_THREADS.map((threads) => () => side.ask({ seconds, threads })));
  const tries = await alternate(TRIES, Object.fromEntries(candidates.entries()));
  const rates = candidates.map((_, index) => median((tries[index] ?? []).map(({ perSecond }) => perSecond)));
  return candidates[rates.indexOf(Math.max(...rates))] as () => Promise<Pressed>;
}

async function loads({ folder, rounds, python }: Bench): Promise<Figure> {
  const path = join(folder, "mobilenet");
  const sides = {
    native: async () => {
      const started = performance.now();
      const model = await loadModel(path, "native");
      const took = performance.now() - started;
      await model.close();
      return took;
    },
    python: async () => (await python.ask({ load: path })).ms,
  };
  for (const side of Object.values(sides)) await side();
  const results = await alternate(Math.min(rounds, 10), sides);
  return {
    name: "MobileNetV2, native, load",
    ours: `${median(results.native).toFixed(0)} ms`,
    ceiling: `${median(results.python).toFixed(0)} ms Python`,
    values: results.native.map((took, round) => took / (results.python[round] as number)),
    unit: "×",
    target: { atMost: 1.2 },
  };
}

/** Predicts and load cycles after as many that warm up. */
async function growth({ folder }: Bench, quick: boolean): Promise<Figure> {
  const [predicts, cycles] = quick ? [200, 20] : [1000, 100];
  const work = async () => {
    const model = await loadModel(join(folder, "mobilenet"), "native");
    await predictTimes(model, predicts);
    await model.close();
    for (let cycle = 0; cycle < cycles; cycle++) {
      const once = await loadModel(join(folder, "dense"), "native");
      await predictTimes(once, 1);
      await once.close();
    }
    return pssMb(process.pid);
  };
  const [early, late] = [await work(), await work()];
  return {
    name: `memory: ${predicts} predicts of MobileNetV2 and ${cycles} loads of the dense net, the second time`,
    ours: `${late.toFixed(0)} MB`,
    ceiling: `${early.toFixed(0)} MB`,
    values: [100 * (late / early - 1)],
    unit: "%",
    target: { atMost: 5 },
  };
}

function latencyFigure(
  name: string,
  ours: readonly Pressed[],
  { beside, atMost }: { readonly beside: readonly Pressed[]; readonly atMost: number },
): Figure {
  const values = ours.map(({ p50Ms }, round) => p50Ms / (beside[round] as Pressed).p50Ms);
  return { name, ours: ms(ours), ceiling: `${ms(beside)} Python`, values, unit: "×", target: { atMost } };
}

function throughputFigure(name: string, ours: readonly Pressed[], beside: readonly Pressed[]): Figure {
  const values = ours.map(({ perSecond }, round) => perSecond / (beside[round] as Pressed).perSecond);
  const ceiling = `${rate(beside)} Python, best of ${PYTHON_THREADS} threads and 2 settings`;
  return { name, ours: rate(ours), ceiling, values, unit: "×", target: { atLeast: 0.95 } };
}

function ms(results: readonly Pressed[]): string {
  return `${median(results.map(({ p50Ms }) => p50Ms)).toFixed(3)} ms`;
}

function rate(results: readonly Pressed[]): string {
  return `${median(results.map(({ perSecond }) => perSecond)).toFixed(0)}/s`;
}
