import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { watchChild } from "../../test/helpers/children.ts";
import { startCommand } from "../../test/helpers/start-command.ts";
import { growing, type Holdings, holdingsOf } from "./measure.ts";

/** Models of this repository, by their driver or engine. */
const MODELS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  null: { driver: "null" },
  onnx: { driver: "onnx", path: "models/half-plus-two.onnx" },
  openvino: { driver: "openvino", path: "openvino/add_multiply" },
  tensorflow: { driver: "tensorflow", path: "tensorflow/half_plus_two" },
  keras: { driver: "tensorflow", path: "tensorflow-formats/dense/model.keras" },
  tflite: { driver: "tensorflow", path: "tensorflow-formats/lite_two_inputs/model.tflite" },
  "tfjs-graph": { driver: "tensorflow", path: "tensorflow-formats/js_two_inputs" },
  hooks: { driver: "null", hooks: "../../bench/leaks/leak-hooks.ts" },
  isolated: { driver: "onnx", path: "models/half-plus-two.onnx", isolate: true },
};
const WARM_UP_SHARE = 0.5;

/** Loads and unloads each model, so often; resolves with a line for each. */
export async function loadCycles(cycles: number, isChosen: (name: string) => boolean): Promise<string[][]> {
  const lines: string[][] = [];
  for (const [name, model] of Object.entries(MODELS))
    if (cycles > 0 && isChosen(`load-${name}`)) lines.push(await cycle(name, model, cycles));
  return lines;
}

async function cycle(name: string, model: Readonly<Record<string, unknown>>, cycles: number): Promise<string[]> {
  const began = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "kserving-leaks-"));
  const [config, file] = [join(folder, "models.json"), join(folder, "facts.json")];
  writeFileSync(config, JSON.stringify({ models: [{ name: "m", ...absolute(model) }] }));
  const { child, http, stop } = await startCommand([process.execPath, ...serverArguments(config, file)]);
  watchChild(child);
  const wrong = new Set<string>();
  const run = async (count: number) => {
    for (let time = 0; time < count; time++)
      for (const how of ["load", "unload"]) {
        const { status } = await fetch(`${http}/v2/repository/models/m/${how}`, { method: "POST", body: "{}" });
        if (status !== 200) wrong.add(`${how} answers ${status}`);
      }
    return holdingsOf(child.pid as number, file);
  };
  const half = Math.ceil(cycles / 2);
  const held = [await run(Math.ceil(cycles * WARM_UP_SHARE)), await run(half), await run(half)] as const;
  await stop();
  rmSync(folder, { recursive: true });
  const problems = [...growing(held, half, CYCLE_LIMITS), ...wrong];
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return [`load-${name}`, String(cycles), ...cellsOf(held, half), seconds, problems.join(", ") || "ok"];
}

/** A cycle compiles and frees more than a request. */
const CYCLE_LIMITS = {
  objectBytes: { each: 10_000, all: 300 * 1024 },
  pssBytes: { each: 200_000, all: 4 * 2 ** 20 },
  descriptors: { each: 0, all: 2 },
  threads: { each: 0, all: 2 },
} as const;

/** Growth of the halves, `first, second`: bytes each, and numbers in all. */
export function cellsOf([first, middle, last]: readonly [Holdings, Holdings, Holdings], half: number): string[] {
  const growth = (key: keyof Holdings, per: number) =>
    [middle[key] - first[key], last[key] - middle[key]].map((bytes) => (bytes / per).toFixed(0)).join(", ");
  return [growth("objectBytes", half), growth("pssBytes", half), growth("descriptors", 1), growth("threads", 1)];
}

function absolute(model: Readonly<Record<string, unknown>>): object {
  const fixture = (path: unknown) => fileURLToPath(new URL(`../../test/fixtures/${path}`, import.meta.url));
  const { path, hooks } = model;
  return {
    ...model,
    ...(path !== undefined && { path: fixture(path) }),
    ...(hooks !== undefined && { hooks: fixture(hooks) }),
  };
}

function serverArguments(config: string, file: string): string[] {
  const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
  return [
    ...["--import", `${pathToFileURL(root("bench/instrument.mjs"))}?out=${file}`, root("bin/kserving.cjs")],
    ...["--config", config, "--no-supervisor", "--model-control", "explicit", "--allow-control", "local"],
    ...["--host", "127.0.0.1", "--port", "0", "--http-enable", "--http-port", "0"],
  ];
}
