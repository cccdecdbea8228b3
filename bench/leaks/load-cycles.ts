import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { driverModels } from "./driver-models.ts";
import { startInstrumented } from "./leak-server.ts";
import { cellsOf, holdingsOf, measureHalves } from "./measure.ts";

const WARM_UP_SHARE = 0.5;
/** Cycles of those that start a process, or threads and a compiler, each time. */
const SLOW: Readonly<Record<string, number>> = { isolated: 200, python: 100, pytorch: 50, weights: 30, keras: 300 };
/** Models that are replaced by themselves too. */
const SWAPPED = ["null", "onnx", "tflite", "tensorflow"];

/** Requests of each cycle, by the beginning of a row's name. */
const CYCLES = { load: ["load", "unload"], swap: ["load"] } as const;

/** Loads and unloads each model so often, and replaces some; yields a line for each. */
export async function* loadCycles(cycles: number, isChosen: (name: string) => boolean): AsyncGenerator<string[]> {
  for (const [name, model] of Object.entries(driverModels()))
    for (const how of ["load", "swap"] as const) {
      const isWanted = (how === "load" || SWAPPED.includes(name)) && isChosen(`${how}-${name}`);
      const count = Math.min(cycles, SLOW[name] ?? cycles);
      if (count > 0 && isWanted) yield await cycle(`${how}-${name}`, { model, steps: CYCLES[how], cycles: count });
    }
}

interface Cycling {
  readonly model: Readonly<Record<string, unknown>>;
  readonly steps: readonly string[];
  readonly cycles: number;
}

async function cycle(name: string, { model, steps, cycles }: Cycling): Promise<string[]> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "kserving-leaks-"));
  const [config, file] = [join(folder, "models.json"), join(folder, "facts.json")];
  writeFileSync(config, JSON.stringify({ models: [{ name: "m", ...model }] }));
  const control = ["--config", config, "--model-control", "explicit", "--allow-control", "local"];
  // What hundreds of loads have V8 compile again is no leak.
  const { child, http, stop } = await startInstrumented(control, file, { shrink: true });
  const wrong = new Set<string>();
  const run = async (count: number) => {
    for (let time = 0; time < count; time++)
      for (const step of steps) {
        const { status } = await fetch(`${http}/v2/repository/models/m/${step}`, { method: "POST", body: "{}" });
        if (status !== 200) wrong.add(`${step} answers ${status}`);
      }
    return holdingsOf(child.pid as number, file);
  };
  const half = Math.ceil(cycles / 2);
  const first = await run(Math.ceil(cycles * WARM_UP_SHARE));
  const { held, grown } = await measureHalves(first, () => run(half), half, CYCLE_LIMITS);
  await stop();
  rmSync(folder, { recursive: true });
  const problems = [...grown, ...wrong];
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return [name, String(cycles), ...cellsOf(held, half), seconds, problems.join(", ") || "ok"];
}

/** A cycle compiles and frees more than a request. */
const CYCLE_LIMITS = {
  objectBytes: { each: 1000, all: 200 * 1024 },
  pssBytes: { each: 20_000, all: 4 * 2 ** 20 },
  descriptors: { each: 0, all: 2 },
  threads: { each: 0, all: 2 },
} as const;
