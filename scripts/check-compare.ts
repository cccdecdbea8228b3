import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toColumns } from "../src/platform/text/terminal.ts";
import { makeDemoModels } from "./make-demo-models.ts";

/**
 * Models of packages on every driver that takes them: `kserving compare` of each, and
 * the greatest difference of every output.
 */

/** Rows of a target's outputs beside those of the first target. */
interface Comparison {
  readonly targets: readonly { readonly name: string; readonly ms: number }[];
  readonly outputs: readonly {
    readonly target: string;
    readonly output: string;
    readonly text: string;
    readonly isNear: boolean;
  }[];
  readonly refused: readonly string[];
  readonly failed: readonly string[];
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = join(ROOT, ".cache/compare");
/** Equal numbers of other programs and other orders of sums. */
const TOLERANCE = "1e-3,1e-4";
const MIN_MODELS = 10;

/** Arguments for models that not every runtime runs on the least sizes, by their files' names. */
const SHAPES: Readonly<Record<string, string>> = {
  "ch_PP-OCRv4_rec_infer.onnx": "x=1,3,48,320",
  "ch_ppocr_mobile_v2.0_cls_infer.onnx": "x=1,3,48,192",
};

/** Models, each as the places that are compared with one another. */
async function listModels(): Promise<readonly (readonly string[])[]> {
  const require = createRequire(import.meta.url);
  const human = join(dirname(require.resolve("@vladmandic/human")), "../models");
  const demo = await makeDemoModels();
  const ocr = packagesOf("KSERVING_TEST_OCR");
  const onnxIn = (folder: string) =>
    readdirSync(folder)
      .filter((file) => file.endsWith(".onnx"))
      .map((file) => [join(folder, file)]);
  return [
    [demo.blazeface, join(human, "blazeface.json")],
    [demo.emotion, join(human, "emotion.json")],
    ...onnxIn(join(ocr, "rapidocr_onnxruntime/models")),
    ...onnxIn(join(ocr, "onnxruntime/datasets")),
    ...kerasModels().map((path) => [path]),
  ];
}

/** The packages of the environment whose Python a variable names. */
function packagesOf(variable: string): string {
  const script = "import sysconfig; print(sysconfig.get_path('purelib'))";
  return execFileSync(pythonOf(variable), ["-c", script], { encoding: "utf8" }).trim();
}

function pythonOf(variable: string): string {
  const python = process.env[variable];
  if (python === undefined) throw new Error(`${variable} names no Python; .ci/run shows how to make its environment.`);
  return python;
}

/** Written once; a run that was stopped leaves no half of them. */
function kerasModels(): readonly string[] {
  if (!existsSync(FOLDER)) {
    const draft = `${FOLDER}.draft`;
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { recursive: true });
    const script = join(ROOT, "scripts/make-compare-models.py");
    execFileSync(pythonOf("KSERVING_TEST_TENSORFLOW"), [script, draft], { stdio: ["ignore", "ignore", "ignore"] });
    renameSync(draft, FOLDER);
  }
  return readdirSync(FOLDER).map((name) => join(FOLDER, name));
}

function compare(places: readonly string[]): Comparison | string {
  const shape = SHAPES[basename(places[0] as string)];
  const flags = ["--json", "--runs", "3", "--tolerance", TOLERANCE, ...(shape === undefined ? [] : ["--shape", shape])];
  const args = [join(ROOT, "bin/kserving.cjs"), "compare", ...places, ...flags];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  return stdout.startsWith("{") ? (JSON.parse(stdout) as Comparison) : stderr.trim();
}

const rows: string[][] = [];
const problems: string[] = [];
let compared = 0;
for (const places of await listModels()) {
  const name = basename(places[0] as string);
  const outcome = compare(places);
  if (typeof outcome === "string") {
    rows.push([name, "not compared", "", outcome]);
    continue;
  }
  const { targets, outputs, failed } = outcome;
  compared++;
  const first = targets[0]?.name ?? "";
  for (const { target, output, text, isNear } of outputs) {
    rows.push([name, `${short(first)} : ${short(target)}`, output, text === "" ? "equal" : text.replace(/:.*/, "")]);
    if (!isNear) problems.push(`${name}: ${output} of ${target} differs ${text}`);
  }
  problems.push(...failed.map((text) => `${name}: ${text}`));
}
for (const line of toColumns([["Model", "Compared", "Output", "Greatest difference"], ...rows])) console.log(line);
if (compared < MIN_MODELS) problems.push(`${compared} models were compared; expected ${MIN_MODELS}.`);
for (const problem of problems) console.log(`PROBLEM: ${problem}`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** A target without its folder. */
function short(target: string): string {
  return target.replace(/^.*\//, "");
}
