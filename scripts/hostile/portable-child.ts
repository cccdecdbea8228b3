import { readFileSync } from "node:fs";
import type { Model } from "../../src/drivers/driver.ts";
import { parseOptions } from "../../src/drivers/option-table.ts";
import tensorflow from "../../src/drivers/tensorflow/tensorflow.ts";
import { ServingError } from "../../src/errors.ts";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { DEFAULT_SIGNATURE } from "../../src/tensor/signature/signature.ts";
import { createTensors, type Tensors } from "../../src/tensor/tensor.ts";
import { readTensors, type WrittenCase, type WrittenTensors, writeTensors } from "./written-case.ts";

/**
 * Runs cases of a file on an engine, from the one of a number on, and prints a line of JSON for each: what the good
 * inputs gave, what the bad ones did, and if the good ones gave the same again. Ends after a trap in WebAssembly.
 *
 *     tsx portable-child.ts portable|tfjs CASES.jsonl FIRST
 */
const [engine = "portable", file = "", first = "0"] = process.argv.slice(2);

/** Outcome of a run. */
export interface Ran {
  readonly outputs?: WrittenTensors;
  readonly refused?: string;
  readonly code?: string;
}

const cases = readFileSync(file, "utf8").trimEnd().split("\n").slice(Number(first));
let loaded: { readonly path: string; readonly model: Model | ServingError; readonly good?: string } | undefined;
for (const line of cases) {
  const each = JSON.parse(line) as WrittenCase;
  if (loaded?.path !== each.graph) loaded = await load(each);
  const { model, good } = loaded as NonNullable<typeof loaded>;
  if (model instanceof ServingError) {
    print({ unserved: model.message });
    continue;
  }
  process.stdout.write(".");
  const bad = await run(model, each.inputs);
  const again = JSON.stringify(await run(model, each.good));
  print({ bad, same: again === good });
  // What trapped in WebAssembly refuses whatever comes.
  if (bad.code === "internal" || bad.code === "unavailable") process.exit(3);
}

async function load({ graph, outputs, good }: WrittenCase) {
  if (loaded !== undefined && !(loaded.model instanceof ServingError)) await loaded.model.close();
  const names = {
    inputs: Object.keys(good)
      .map((name) => `${name}:0`)
      .join(),
    outputs: outputs.join(),
  };
  const isTfjs = engine === "tfjs";
  const options = parseOptions(tensorflow.options, isTfjs ? {} : { engine, ...names });
  const path = isTfjs ? graph.replace(/graph\.pb$/, "model.json") : graph;
  try {
    const model = await tensorflow.load(path, options, { log: createSilentLogger(), threads: 1 });
    return { path: graph, model, good: JSON.stringify(await run(model, good)) };
  } catch (reason) {
    return { path: graph, model: ServingError.from(reason) };
  }
}

/** TensorFlow.js has no number for the first output of a node. */
function underEdges(outputs: Tensors): Tensors {
  return createTensors(Object.entries(outputs).map(([name, tensor]) => [/:/.test(name) ? name : `${name}:0`, tensor]));
}

async function run(model: Model, written: WrittenTensors): Promise<Ran> {
  const given = readTensors(written);
  const names = (model.signatures[DEFAULT_SIGNATURE]?.inputs ?? []).map(({ name }) => name);
  const inputs = Object.fromEntries(names.map((name) => [name, given[name.replace(/:0$/, "")]])) as Tensors;
  try {
    const call = { signature: DEFAULT_SIGNATURE, signal: new AbortController().signal, deadlineMs: 20_000 };
    return { outputs: writeTensors(underEdges(await model.predict(inputs, call))) };
  } catch (reason) {
    const { code, message, cause } = ServingError.from(reason);
    const why = code === "internal" ? ` ${(cause as Error | undefined)?.stack?.split("\n").slice(0, 4).join(" ")}` : "";
    return { refused: `${message}${why}`.slice(0, 400), code };
  }
}

function print(line: object): void {
  process.stdout.write(`\n${JSON.stringify(line)}\n`);
}
