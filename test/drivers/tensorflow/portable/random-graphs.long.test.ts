import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseOptions } from "../../../../src/drivers/option-table.ts";
import tensorflow from "../../../../src/drivers/tensorflow/tensorflow.ts";
import { ServingError } from "../../../../src/errors.ts";
import { createSilentLogger } from "../../../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../../../src/tensor/signature/signature.ts";
import type { Tensor, Tensors } from "../../../../src/tensor/tensor.ts";
import { missingRuntime } from "../../missing-runtime.ts";
import { tensorflowRuntime } from "../native/tensorflow-runtime.ts";
import { differences } from "./differences.ts";
import { writeGraph } from "./graph-writer.ts";
import { makeRandomGraphs, type RandomGraph, TRIALS } from "./random-graphs.ts";

const missing = await missingRuntime("The portable engine against the native one", tensorflowRuntime);
/** Each operation comes so often, in as many of its dtypes. */
const ROUNDS = Number(process.env.RANDOM_ROUNDS ?? 5);
const GRAPHS = ROUNDS * Object.keys(TRIALS).length;
const SEED = Number(process.env.RANDOM_SEED ?? 1);

describe.skipIf(missing !== undefined)("the portable engine", () => {
  const folder = mkdtempSync(join(tmpdir(), "random-graphs-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("computes random graphs as TensorFlow does, or refuses them", async () => {
    const counts = { equal: 0, "both fail": 0, refused: 0, "depends on the processor": 0 };
    const equal = new Map(Object.keys(TRIALS).map((op) => [op, 0]));
    const wrong: string[] = [];
    for (const [index, graph] of makeRandomGraphs(GRAPHS, SEED).entries()) {
      const verdict = await oracle(graph, join(folder, `${index}.pb`));
      if (verdict in counts) counts[verdict as keyof typeof counts] += 1;
      else wrong.push(`${index}: ${graph.op} of ${graph.dtype}: ${verdict}`);
      if (verdict === "equal") equal.set(graph.op, (equal.get(graph.op) as number) + 1);
    }
    process.stdout.write(`${GRAPHS} random graphs of ${equal.size} operations: ${JSON.stringify(counts)}\n`);
    expect(wrong).toEqual([]);
    expect([...equal].filter(([, count]) => count === 0)).toEqual([]);
  }, 120_000);
});

/**
 * Compares both engines on a graph: `equal`, `both fail`, `refused` by the portable
 * engine, `depends on the processor`, else the difference.
 */
async function oracle(graph: RandomGraph, path: string): Promise<string> {
  writeFileSync(path, writeGraph(graph.nodes));
  const expected = await run("native", graph, path);
  const actual = await run("portable", graph, path);
  if (expected instanceof Error) return actual instanceof Error ? "both fail" : `TensorFlow fails: ${expected.message}`;
  if (actual instanceof ServingError && isRefusal(actual)) return "refused";
  if (actual instanceof Error) return `fails: ${actual.message}`;
  const found = differences(actual, expected);
  if (found === undefined) return "equal";
  return dependsOnProcessor(graph) ? "depends on the processor" : found;
}

/**
 * TensorFlow's own softmax of a row with NaN or infinity is NaN everywhere, or 0
 * beside NaN, by the instructions that there are.
 */
function dependsOnProcessor({ op, inputs }: RandomGraph): boolean {
  const hasNumbers = ({ data }: Tensor) => Array.from(data as Iterable<unknown>, Number).every(Number.isFinite);
  return op.includes("Softmax") && !Object.values(inputs).every((input) => hasNumbers(input!));
}

function isRefusal({ code, message }: ServingError): boolean {
  return code === "failed_precondition" || /32 bits|alike everywhere/.test(message);
}

async function run(
  engine: "native" | "portable",
  { inputs, outputs }: RandomGraph,
  path: string,
): Promise<Tensors | Error> {
  const names = { inputs: Object.keys(inputs).join(), outputs: outputs.join() };
  const options = parseOptions(tensorflow.options, { engine, ...names });
  try {
    const model = await tensorflow.load(path, options, { log: createSilentLogger(), threads: 1 });
    try {
      return await model.predict(inputs, { signature: DEFAULT_SIGNATURE, signal: new AbortController().signal });
    } finally {
      await model.close();
    }
  } catch (reason) {
    return reason as Error;
  }
}
