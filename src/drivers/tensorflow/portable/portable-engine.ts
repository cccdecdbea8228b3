import { failedPrecondition, ServingError } from "../../../errors.ts";
import { didYouMean } from "../../../platform/text/nearest.ts";
import { DEFAULT_SIGNATURE } from "../../../tensor/signature/signature.ts";
import type { DriverHost, Model } from "../../driver.ts";
import type { TensorflowEngine, TensorflowOptions } from "../engine.ts";
import type { ModelSource } from "../model-source.ts";
import { findConditionalNodes } from "../saved-model/conditional-nodes.ts";
import { dataTypeName, toDType } from "../saved-model/data-type.ts";
import type { GraphDef, NodeDef } from "../saved-model/graph-def.ts";
import { loadFrozenGraph, loadSavedModel, parseTags } from "../saved-model/load-saved-model.ts";
import {
  type BoundTensor,
  type ModelSignature,
  type TypeOfTensor,
  toModelSignatures,
  withGraphTypes,
} from "../saved-model/model-signatures.ts";
import { fromTensorShape } from "../saved-model/tensor-proto.ts";
import { startTfjs } from "../tfjs/tfjs-backend.ts";
import { outputType } from "./element-types.ts";
import { type Edge, parseEdge } from "./graph.ts";
import { createFunctionLibrary } from "./graph-inliner.ts";
import { loadModelResources } from "./model-resources.ts";
import { PortableModel, type PortableSource } from "./portable-model.ts";
import { Refusal, refusedModel, toLoadError } from "./refusal.ts";

/** Our own importer of SavedModels and frozen graphs, onto TensorFlow.js and WebAssembly. */
const engine: TensorflowEngine = { name: "portable", load };
export default engine;

/** Throws `failed_precondition` naming the operations that cannot be computed as TensorFlow does. */
async function load(source: ModelSource, options: TensorflowOptions, { log }: DriverHost): Promise<Model> {
  if (options.custom_op_paths)
    throw failedPrecondition("custom_op_paths needs the native engine: kserving runtimes install tensorflow.");
  const contents =
    source.format === "saved-model" ? readSavedModel(source.path, options) : readFrozen(source.path, options);
  await startTfjs();
  const model = new PortableModel(contents());
  const reasons = model.refused.get(DEFAULT_SIGNATURE) ?? firstRefusal(model);
  if (reasons !== undefined) {
    await model.close();
    throw toLoadError(reasons);
  }
  for (const [signature, why] of model.refused) log.warn("a signature is not served", { signature, why: [...why] });
  if (model.inexactTypes.size > 0)
    log.warn("the model's numbers are computed in float32", { types: [...model.inexactTypes] });
  return model;
}

/** Reasons of a model of which nothing at all can be served. */
function firstRefusal(model: PortableModel): ReadonlySet<string> | undefined {
  return Object.keys(model.signatures).length === 0 ? [...model.refused.values()][0] : undefined;
}

function readSavedModel(folder: string, options: TensorflowOptions): () => PortableSource {
  const meta = loadSavedModel(folder, parseTags(options.tags));
  const { served, unserved } = toModelSignatures(meta, options.model_signature);
  const graph = meta.graphDef ?? { node: [] };
  const signatures = withGraphTypes(served, placeholderTypes(graph));
  return () => {
    try {
      const resources = loadModelResources(meta, createFunctionLibrary(graph), folder);
      return { graph, signatures, unserved, resources };
    } catch (reason) {
      // A table may hold numbers that cannot be carried.
      const isBeyond = reason instanceof ServingError && reason.code === "invalid_argument";
      if (!(reason instanceof Refusal || isBeyond)) throw reason;
      throw refusedModel(`The portable engine cannot load this model: ${reason.message.replace(/\.$/, "")}.`, reason);
    }
  };
}

function placeholderTypes({ node }: GraphDef): TypeOfTensor {
  const types = new Map(
    node.filter(({ op }) => op === "Placeholder").map((each) => [`${each.name}:0`, outputType(each, 0)]),
  );
  return (name) => types.get(name);
}

function readFrozen(path: string, options: TensorflowOptions): () => PortableSource {
  const graph = loadFrozenGraph(path);
  const signatures = { [DEFAULT_SIGNATURE]: toFrozenSignature(graph, options) };
  return () => ({ graph, signatures, resources: undefined });
}

/** The options that name a frozen graph's tensors. */
interface FrozenEnds {
  readonly inputs?: string;
  readonly outputs?: string;
}

/**
 * A frozen graph's signature: the tensors that options name, else its placeholders and what nothing else takes.
 * Throws `failed_precondition` for a name that the graph does not have, or of a type that cannot be served.
 */
function toFrozenSignature(graph: GraphDef, ends: FrozenEnds): ModelSignature {
  const nodes = new Map(graph.node.map((node) => [node.name, node]));
  const inputs = parseNames(ends.inputs) ?? graph.node.filter(({ op }) => op === "Placeholder").map(({ name }) => name);
  const outputs = parseNames(ends.outputs) ?? leavesOf(graph);
  if (outputs.length === 0)
    throw failedPrecondition("The graph has no node whose result nothing else takes; name outputs with -o outputs=.");
  return {
    inputs: inputs.map((name) => toBoundTensor(name, nodes, "inputs")),
    outputs: outputs.map((name) => toBoundTensor(name, nodes, "outputs")),
  };
}

function parseNames(text: string | undefined): string[] | undefined {
  const names = text?.split(",").map((name) => name.trim());
  return names?.filter((name) => name !== "");
}

function leavesOf(graph: GraphDef): string[] {
  const taken = new Set(
    graph.node.flatMap(({ input }) => input.map((text) => parseEdge(text.replace(/^\^/, "")).node)),
  );
  const conditional = findConditionalNodes(graph.node);
  return graph.node
    .filter(({ name, op, input }) => !taken.has(name) && input.length > 0 && !/^(NoOp|Assert)$/.test(op))
    .map(({ name }) => name)
    .filter((name) => !conditional.has(name));
}

/** Its name as it was written: `x:0` and `x` are one tensor and two names. */
function toBoundTensor(name: string, nodes: ReadonlyMap<string, NodeDef>, option: string): BoundTensor {
  const edge: Edge = parseEdge(name);
  const node = nodes.get(edge.node);
  if (node === undefined)
    throw failedPrecondition(
      `The graph has no tensor "${name}", which -o ${option}= names.${didYouMean(edge.node, nodes.keys())}`,
    );
  const dataType = outputType(node, edge.output);
  if (dataType === undefined)
    throw refusedModel(`The portable engine cannot load this model: ${node.op} ("${name}") is not known.`);
  const dtype = toDType(dataType);
  if (dtype === undefined)
    throw failedPrecondition(
      `The tensor "${name}" (${node.op}) is of type ${dataTypeName(dataType)}, which cannot be served.`,
    );
  const shape = /^Placeholder/.test(node.op) ? placeholderShape(node) : undefined;
  return { name, dtype, ...(shape && { shape }), nativeName: `${edge.node}:${edge.output}`, dataType };
}

function placeholderShape({ attr }: NodeDef): readonly number[] | undefined {
  const shape = Object.hasOwn(attr, "shape") ? attr.shape?.value : undefined;
  return shape?.case === "shape" ? fromTensorShape(shape.value) : undefined;
}
