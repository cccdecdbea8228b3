import { GraphModel as ConverterModel } from "@tensorflow/tfjs-converter";
import type { io, Tensor } from "@tensorflow/tfjs-core";
import { type LayersModel, loadLayersModel } from "@tensorflow/tfjs-layers";
import { failedPrecondition, publicText, ServingError } from "../../../errors.ts";
import type { Model } from "../../driver.ts";
import type { TensorflowEngine } from "../engine.ts";
import { isKeras3, withLayersJson } from "../keras/layers-json.ts";
import { loadKerasModel } from "../keras/load-keras-model.ts";
import type { ModelSource } from "../model-source.ts";
import { exclusively } from "./exclusive-run.ts";
import { createGraphModel, type GraphModel, type GraphNode } from "./graph-model.ts";
import { readGraphSignature } from "./graph-signature.ts";
import { createLayersModel } from "./layers-model.ts";
import { mendOperators } from "./mend-operators.ts";
import { readModelJson } from "./model-json.ts";
import { startFastestTfjs } from "./node-backend.ts";
import { reportFallbacks } from "./report-fallbacks.ts";

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
