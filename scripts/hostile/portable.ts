import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromFloat16 } from "../../src/tensor/float16.ts";
import { createTensors, type Tensors } from "../../src/tensor/tensor.ts";
import { differences } from "../../test/drivers/tensorflow/portable/differences.ts";
import { writeGraph } from "../../test/drivers/tensorflow/portable/graph-writer.ts";
import { runCommand } from "../../test/helpers/run-command.ts";
import { type HostileGraph, makeHostileGraphs } from "./portable-cases.ts";
import type { Ran } from "./portable-child.ts";
import { readTensors, type WrittenCase, type WrittenTensors, writeTensors } from "./written-case.ts";

/**
 * Every operation that the portable engine and TensorFlow.js compute, with hostile sizes, places and numbers beside
 * good ones: prints which end their process, hang, change later answers, or answer what TensorFlow refuses.
 *
 *     tsx scripts/hostile/portable.ts [--engine portable|tfjs] [OP …]
 */

/** An operation that did with some inputs what it must not. */
export interface Finding {
  readonly engine: string;
  readonly op: string;
  readonly what: string;
  readonly problem: string;
}

/** TensorFlow's verdict on a case. */
interface Verdict {
  readonly outputs?: WrittenTensors;
  readonly refused?: string;
  readonly died?: number;
}

/** Behaviour of an engine with a case. */
interface Outcome {
  readonly bad?: Ran;
  readonly same?: boolean;
  readonly unserved?: string;
  readonly ended?: string;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));
const FOLDER = fileURLToPath(new URL("../../.cache/hostile/", import.meta.url));
const DTYPES = 2;
const PATIENCE_MS = 40_000;

/** Sweeps the operations that are named, or all; throws where the environment with TensorFlow is missing. */
export async function sweepPortable(engine: "portable" | "tfjs", ops: readonly string[] = []): Promise<Finding[]> {
  const cases = writeCases(makeHostileGraphs(ops, DTYPES));
  const file = join(FOLDER, "cases.jsonl");
  writeLines(file, cases);
  const verdicts = judge(cases);
  const outcomes = await runAll(engine, file, cases.length);
  return cases.flatMap(({ op, what }, index) => {
    const problem = problemOf(engine, outcomes[index] as Outcome, verdicts[index] as Verdict);
    return problem === undefined ? [] : [{ engine, op, what, problem }];
  });
}

function writeCases(graphs: readonly HostileGraph[]): WrittenCase[] {
  return graphs.flatMap(({ op, nodes, outputs, good, bad }, index) => {
    const folder = join(FOLDER, `${op}-${index}`);
    mkdirSync(folder, { recursive: true });
    const graph = join(folder, "graph.pb");
    writeFileSync(graph, writeGraph(nodes));
    writeFileSync(join(folder, "model.json"), JSON.stringify(toGraphModel(nodes, outputs)));
    const named = (list: HostileGraph["good"]): Tensors => createTensors(list.map((each, at) => [`in${at}`, each]));
    const common = { op, graph, outputs, good: writeTensors(named(good)) };
    return bad.map(({ what, inputs }) => ({ ...common, what, inputs: writeTensors(named(inputs)) }));
  });
}

/** The same graph for TensorFlow.js. */
function toGraphModel(nodes: HostileGraph["nodes"], outputs: readonly string[]): object {
  const inputs = nodes.filter(({ op }) => op === "Placeholder");
  const info = (name: string, dtype: unknown) => ({ name, dtype, tensorShape: { unknownRank: true } });
  const typeOf = (attr: unknown) => (attr as { type: string } | undefined)?.type ?? "DT_FLOAT";
  return {
    format: "graph-model",
    modelTopology: { node: nodes, versions: { producer: 1 }, library: {} },
    weightsManifest: [],
    signature: {
      inputs: Object.fromEntries(inputs.map(({ name, attr }) => [name, info(`${name}:0`, typeOf(attr?.dtype))])),
      outputs: Object.fromEntries(outputs.map((name) => [name, info(name, typeOf(nodes.at(-1)?.attr?.T))])),
    },
  };
}

/** Kept from run to run: the same case has the same verdict. */
function judge(cases: readonly WrittenCase[]): Verdict[] {
  const store = join(FOLDER, "verdicts.jsonl");
  const known = new Map(readLines<{ key: string; verdict: Verdict }>(store).map(({ key, verdict }) => [key, verdict]));
  const unknown = cases.filter((each) => !known.has(keyOf(each)));
  if (unknown.length > 0) {
    const file = join(FOLDER, "unknown.jsonl");
    writeLines(file, unknown);
    const verdicts = runCommand(pythonWithTensorflow(), [join(HERE, "judge_tensorflow.py"), file])
      .trimEnd()
      .split("\n");
    for (const [index, each] of unknown.entries())
      known.set(keyOf(each), JSON.parse(verdicts[index] as string) as Verdict);
    writeLines(
      store,
      [...known].map(([key, verdict]) => ({ key, verdict })),
    );
  }
  return cases.map((each) => known.get(keyOf(each)) as Verdict);
}

function keyOf({ graph, outputs, inputs }: WrittenCase): string {
  return createHash("sha256").update(readFileSync(graph)).update(JSON.stringify({ outputs, inputs })).digest("hex");
}

function pythonWithTensorflow(): string {
  const python = process.env.KSERVING_TEST_TENSORFLOW;
  if (python === undefined) throw new Error("KSERVING_TEST_TENSORFLOW names no Python with TensorFlow (.ci/run).");
  return python;
}

function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as T);
}

function writeLines(file: string, values: readonly object[]): void {
  writeFileSync(file, `${values.map((each) => JSON.stringify(each)).join("\n")}\n`);
}

async function runAll(engine: string, file: string, count: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < count) {
    const { done, ended } = await runFrom(engine, file, outcomes.length);
    outcomes.push(...done);
    if (ended !== undefined && outcomes.length < count) outcomes.push({ ended });
  }
  return outcomes;
}

/** A child's results until its end, and how it ended where that was within a case. */
async function runFrom(engine: string, file: string, first: number) {
  const args = [
    "--import",
    "tsx",
    "--max-old-space-size=3000",
    join(HERE, "portable-child.ts"),
    engine,
    file,
    String(first),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const done: Outcome[] = [];
  let [text, errors, hung] = ["", "", false];
  const patience = setTimeout(() => {
    hung = true;
    child.kill("SIGKILL");
  }, PATIENCE_MS);
  child.stderr.on("data", (chunk) => {
    errors = `${errors}${chunk}`.slice(-2000);
  });
  child.stdout.on("data", (chunk) => {
    patience.refresh();
    const lines = `${text}${chunk}`.split("\n");
    text = lines.pop() as string;
    for (const line of lines) if (line.startsWith("{")) done.push(JSON.parse(line) as Outcome);
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on("close", (...end) => resolve(end));
  });
  clearTimeout(patience);
  if (code === 0 || code === 3) return { done, ended: undefined };
  const why = /FATAL ERROR.*|\w*Error: .*/.exec(errors)?.[0] ?? "";
  return { done, ended: hung ? "hangs" : `ends its process (${signal ?? code}) ${why}` };
}

function problemOf(engine: string, { bad, same, unserved, ended }: Outcome, verdict: Verdict): string | undefined {
  if (unserved !== undefined) return undefined;
  if (ended !== undefined) return ended;
  if (same === false) return "later answers differ";
  if (bad?.refused !== undefined) return refusalProblem(bad, verdict);
  if (verdict.refused !== undefined)
    return `answers ${shapesOf(bad?.outputs)} what TensorFlow refuses: ${verdict.refused}`;
  if (verdict.died !== undefined) return undefined;
  return difference(engine, bad?.outputs ?? {}, verdict.outputs ?? {});
}

/** The client's fault, or one that is the server's: a refusal has to say which. */
function refusalProblem({ code, refused }: Ran, verdict: Verdict): string | undefined {
  if (code === "invalid_argument" || code === "out_of_range" || code === "resource_exhausted") return undefined;
  return `${code}: ${refused}${verdict.refused === undefined ? " (TensorFlow answers)" : ""}`;
}

function difference(engine: string, actual: WrittenTensors, expected: WrittenTensors): string | undefined {
  const names = Object.keys(expected);
  const isWhole = (tensors: WrittenTensors) => names.every((name) => tensors[name]?.data !== null);
  if (!isWhole(actual) || !isWhole(expected)) return undefined;
  const found = differences(likeFloats(engine, readTensors(actual)), likeFloats(engine, readTensors(expected)));
  return found === undefined ? undefined : `answers otherwise: ${found}`;
}

/** TensorFlow.js has 32 bits for everything. */
function likeFloats(engine: string, tensors: Tensors): Tensors {
  if (engine === "portable") return tensors;
  return createTensors(
    Object.entries(tensors).map(([name, tensor]) => {
      if (tensor === undefined || tensor.dtype === "bytes") return [name, tensor as never];
      const toNumber = tensor.dtype === "float16" ? fromFloat16 : Number;
      const data = Float32Array.from(tensor.data as ArrayLike<unknown> as ArrayLike<number>, (value) =>
        toNumber(value as never),
      );
      return [name, { dtype: "float32", shape: tensor.shape, data } as never];
    }),
  );
}

function shapesOf(outputs: WrittenTensors = {}): string {
  return Object.values(outputs)
    .map(({ shape }) => `[${shape}]`)
    .join(", ");
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const at = args.indexOf("--engine");
  const engines = at === -1 ? ["portable", "tfjs"] : args.splice(at, 2).slice(1);
  const findings: Finding[] = [];
  for (const engine of engines) findings.push(...(await sweepPortable(engine as "portable" | "tfjs", args)));
  for (const { engine, op, what, problem } of findings) console.log(`${engine.padEnd(8)} ${op}: ${what}: ${problem}`);
  console.log(`${findings.length} findings`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
