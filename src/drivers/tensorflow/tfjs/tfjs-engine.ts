import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import util from "node:util";
import { GraphModel as ConverterModel, registerOp } from "@tensorflow/tfjs-converter";
import * as tf from "@tensorflow/tfjs-core";
import { type io, linalg, type Scalar, type Tensor, type Tensor2D } from "@tensorflow/tfjs-core";
import { type LayersModel, loadLayersModel } from "@tensorflow/tfjs-layers";
import { failedPrecondition, publicText, ServingError } from "../../../errors.ts";
import { openLibrary } from "../../../platform/native/bind-functions.ts";
import { libraryIn } from "../../../storage/runtimes/find-library.ts";
import { tensorflow } from "../../../storage/runtimes/native-runtimes.ts";
import type { Model } from "../../driver.ts";
import type { TensorflowEngine } from "../engine.ts";
import { isKeras3, loadKerasModel, withLayersJson } from "../keras/keras-engine.ts";
import type { ModelSource } from "../model-source.ts";
import { checkOnlyTensorflow, quietTensorflow } from "../native/one-tensorflow.ts";
import { exclusively } from "./exclusive-run.ts";
import { reportFallbacks } from "./fallback-kernels.ts";
import { createGraphModel, type GraphModel, type GraphNode, readGraphSignature } from "./graph-model.ts";
import { createLayersModel } from "./layers-model.ts";
import { startTfjs } from "./tfjs-backend.ts";

/** Serves a model.json of TensorFlow.js, graph or layers, with the weight files next to it. */
const engine: TensorflowEngine = {
  name: "tfjs",
  load: async (source, _, { log }) => {
    const artifacts = readModelJson(source.path);
    log.info("TensorFlow.js computes", { backend: await startFastestTfjs() });
    const load = source.format === "tfjs-layers" ? loadLayers : loadGraph;
    return reportFallbacks(await exclusively(() => load(artifacts, source)), log);
  },
};

export default engine;

async function loadLayers(artifacts: io.ModelArtifacts, { path }: ModelSource): Promise<Model> {
  if (isKeras3(artifacts.modelTopology)) {
    const { model, inputDTypes } = await withLayersJson(artifacts, (file) => loadKerasModel(file, path));
    return createLayersModel(model, inputDTypes);
  }
  const handler = { load: async () => ({ ...artifacts, modelTopology: withoutInitializers(artifacts.modelTopology) }) };
  const model: LayersModel = await loadLayersModel(handler as io.IOHandler).catch((cause: unknown) => {
    throw refused(
      path,
      cause,
      " As a graph model (tensorflowjs_converter --output_format=tfjs_graph_model) it may be served.",
    );
  });
  return createLayersModel(model);
}

async function loadGraph(artifacts: io.ModelArtifacts, { path }: ModelSource): Promise<Model> {
  mendOperators();
  const signature = readGraphSignature(artifacts);
  const model: GraphModel = new ConverterModel({ load: () => artifacts });
  try {
    model.loadSync(artifacts);
    const nodes = nodesOf(model);
    refuseUnknown(nodes);
    await initialize(model);
    return createGraphModel(model, signature, nodes);
  } catch (cause) {
    throw refused(path, cause);
  }
}

/** Members of a graph model that are not declared. */
interface GraphModelParts {
  readonly executor: { readonly graph: Graph };
  executeInitializerGraphAsync(): Promise<Tensor[]>;
  setResourceIdToCapturedInput(outputs: Tensor[]): void;
}

interface Graph {
  readonly nodes: Readonly<Record<string, GraphNode>>;
  readonly functions?: Readonly<Record<string, Graph>>;
}

function nodesOf(model: GraphModel): GraphNode[] {
  const { graph } = (model as unknown as GraphModelParts).executor;
  return [graph, ...Object.values(graph.functions ?? {})].flatMap(({ nodes }) => Object.values(nodes));
}

function refuseUnknown(nodes: readonly GraphNode[]): void {
  const unknown = new Set(nodes.filter(({ category }) => category === undefined).map(({ op }) => op));
  if (unknown.size === 0) return;
  throw new Error(`it has no operator ${[...unknown].sort().join(", ")}; serve the SavedModel that it was made from`);
}

/** Fills tables; left to the first run, they would be freed with it. */
async function initialize(model: GraphModel): Promise<void> {
  const parts = model as unknown as GraphModelParts;
  parts.setResourceIdToCapturedInput(await parts.executeInitializerGraphAsync());
}

/**
 * Every weight is in the files; some initializers are slow, and one needs a part of TensorFlow.js that is not there.
 */
function withoutInitializers<T>(topology: T): T {
  const zeros = { class_name: "Zeros", config: {} };
  return JSON.parse(JSON.stringify(topology), (key, value) => (/_initializer$/.test(key) && value ? zeros : value));
}

function refused(path: string, cause: unknown, advice = ""): ServingError {
  if (cause instanceof ServingError) return cause;
  const message = `TensorFlow.js cannot load the model "${path}": ${publicText(cause).replace(/\.?$/, ".")}${advice}`;
  return failedPrecondition(message, cause);
}

/** Weights that are together in some of the files next to a model.json. */
type WeightsGroup = io.WeightsManifestConfig[number];

/** Bytes of one element as it is stored. */
const STORED_BYTES: Readonly<Record<string, number>> = {
  float32: 4,
  int32: 4,
  bool: 1,
  complex64: 8,
  float16: 2,
  uint8: 1,
  uint16: 2,
};

/**
 * Reads a model.json and the weight files next to it; throws `failed_precondition` naming a file that is missing or cut
 * short.
 */
function readModelJson(path: string): io.ModelArtifacts {
  const model = JSON.parse(readFileSync(path, "utf8")) as io.ModelJSON;
  const { weightsManifest: groups = [], ...rest } = model;
  const weights = groups.map((group) => readGroup(group, path));
  const weightData = Uint8Array.from(Buffer.concat(weights)).buffer;
  return { ...rest, weightSpecs: groups.flatMap(({ weights: specs }) => specs), weightData };
}

function readGroup({ paths, weights }: WeightsGroup, model: string): Buffer {
  const shards = Buffer.concat(paths.map((name) => readShard(model, name)));
  let end = 0;
  for (const spec of weights) end += storedBytes(spec, shards.subarray(end), model);
  if (shards.length >= end) return shards.subarray(0, end);
  const files = paths.join(", ");
  throw failedPrecondition(`The weights of "${model}" are cut short: ${files} have ${shards.length} bytes of ${end}.`);
}

function readShard(model: string, name: string): Buffer {
  const folder = dirname(model);
  const file = join(folder, name);
  if (relative(folder, file).startsWith("..")) {
    throw failedPrecondition(`The weight file "${name}" of "${model}" lies outside the model's folder.`);
  }
  try {
    return readFileSync(file);
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const what = missing ? "is missing; put it next to the model.json" : "cannot be read";
    throw failedPrecondition(`The weight file "${name}" of "${model}" ${what}.`, cause);
  }
}

/** The bytes of one weight, which begins where `rest` does; more than there are if it is cut short. */
function storedBytes(spec: io.WeightsManifestEntry, rest: Buffer, model: string): number {
  const { name, shape, dtype, quantization } = spec;
  const count = shape.reduce((product, size) => product * size, 1);
  const stored = quantization?.dtype ?? dtype;
  if (stored === "string") return textBytes(rest, count);
  const bytes = STORED_BYTES[stored];
  if (bytes === undefined)
    throw failedPrecondition(`The weight "${name}" of "${model}" is stored as ${stored}, which is not known.`);
  return bytes * count;
}

/** Each text follows its length, in four bytes. */
function textBytes(rest: Buffer, count: number): number {
  let end = 0;
  for (let index = 0; index < count; index++) {
    end += 4 + (end + 4 <= rest.length ? rest.readUInt32LE(end) : 0);
  }
  return end;
}

/** Replaces what tfjs-converter 4.22 computes wrongly. Once is enough, more often does no harm. */
function mendOperators(): void {
  // It takes the number of lower diagonals for that of the upper ones too.
  registerOp("MatrixBandPart", ({ inputs: [matrix, lower, upper] }) =>
    linalg.bandPart(matrix as Tensor2D, lower as Scalar, upper as Scalar),
  );
}

/** Backends that {@link startFastestTfjs} may start. */
type TfjsBackend = "tensorflow" | "wasm";

const ADDON = "tfjs_binding.node";

let started: Promise<TfjsBackend> | undefined;

/**
 * Starts TensorFlow.js in this thread, once: on @tensorflow/tfjs-node if that
 * package is installed and loads, else on WebAssembly.
 */
function startFastestTfjs(load: () => Promise<unknown> = importTfjsNode): Promise<TfjsBackend> {
  started ??= start(load);
  return started;
}

async function start(load: () => Promise<unknown>): Promise<TfjsBackend> {
  const hasNode = await loadNodeBackend(load);
  if (hasNode && (await tf.setBackend("tensorflow"))) return "tensorflow";
  await startTfjs();
  return "wasm";
}

/** The package registers its backend when it loads. */
async function loadNodeBackend(load: () => Promise<unknown>): Promise<boolean> {
  // Node 23 took away what its kernels call.
  Object.assign(util, { isNullOrUndefined: (value: unknown) => value === null || value === undefined });
  try {
    await load();
    return tf.engine().registryFactory.tensorflow !== undefined;
  } catch {
    return false;
  }
}

/** Without its addon the package is an error that takes a second to come. */
async function importTfjsNode(): Promise<void> {
  const root = dirname(createRequire(import.meta.url).resolve("@tensorflow/tfjs-node/package.json"));
  const addons = readdirSync(join(root, "lib")).map((name) => join(root, "lib", name, ADDON));
  const built = addons.filter((path) => existsSync(path));
  if (built.length === 0) return;
  quietTensorflow();
  checkOnlyTensorflow(libraryIn(tensorflow, join(root, "deps", "lib")) ?? built[0]!);
  await import("@tensorflow/tfjs-node");
  // Node unloads an addon with its thread, and TensorFlow with it, whose threads and exit handlers remain.
  for (const path of built) openLibrary(path);
}
