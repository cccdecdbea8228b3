import type { MetaGraphDef } from "../saved-model/meta-graph.ts";
import { fromTensorProto } from "../saved-model/tensor-proto.ts";
import { type Edge, type Graph, type GraphNode, parseEdge } from "./graph.ts";
import { type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import { parseSlice, type VariableSlice } from "./slice-key.ts";

/** Values that a model reads from its checkpoint. */
export interface Restored {
  /** By the variable's node: its key in the checkpoint, or which part it is of what lies there. */
  readonly variables: ReadonlyMap<string, string | VariableSlice>;
  /** By the table's node: the keys of its keys and values. */
  readonly tables: ReadonlyMap<string, { readonly keys: string; readonly values: string }>;
}

const NOTHING: Restored = { variables: new Map(), tables: new Map() };
const TEXT = new TextDecoder();

/**
 * Finds out which variable has which value by following the graph that restores them. Names tell nothing: Keras calls
 * many variables alike.
 */
export function findRestored(meta: MetaGraphDef, library: FunctionLibrary): Restored {
  const restore = meta.saverDef?.restoreOpName ?? "";
  if (restore === "" || meta.graphDef === undefined) return NOTHING;
  const inliner = new GraphInliner(library);
  inliner.addGraph(meta.graphDef);
  inliner.reachNode(parseEdge(restore).node);
  return readRestoring(inliner.nodes);
}

function readRestoring(graph: Graph): Restored {
  const variables = new Map<string, string | VariableSlice>();
  const tables = new Map<string, { keys: string; values: string }>();
  const keyOf = createKeyReader(graph);
  for (const node of graph.values()) {
    const [target, ...sources] = node.inputs;
    if (target === undefined || !/^(Assign|LookupTableImport)/.test(node.op)) continue;
    const { node: resource } = origin(graph, target);
    const [keys, values] = sources.map(keyOf);
    if (/^Assign(VariableOp)?$/.test(node.op) && keys !== undefined) variables.set(resource, keys);
    if (/^LookupTableImport(V2)?$/.test(node.op) && typeof keys === "string" && typeof values === "string")
      tables.set(resource, { keys, values });
  }
  return { variables, tables };
}

/**
 * Reads the key that a value is read under; undefined where it does not come from the
 * checkpoint. One node may read thousands.
 */
function createKeyReader(graph: Graph): (source: Edge) => string | VariableSlice | undefined {
  const keysByNode = new Map<string, readonly (string | VariableSlice | undefined)[]>();
  return (source) => {
    const { node, output } = origin(graph, source);
    const restore = graph.get(node);
    if (restore?.op !== "RestoreV2") return undefined;
    const keys = keysByNode.get(node) ?? readKeys(graph, restore);
    keysByNode.set(node, keys);
    return keys[output];
  };
}

/** The keys of what a node reads. */
function readKeys(graph: Graph, restore: GraphNode): (string | VariableSlice | undefined)[] {
  const slices = constantTexts(graph, restore, 2);
  return constantTexts(graph, restore, 1).map((key, index) => (slices[index] ? parseSlice(key, slices[index]) : key));
}

function constantTexts(graph: Graph, node: GraphNode, input: number): string[] {
  const constant = graph.get(origin(graph, node.inputs[input]!).node);
  const value = constant?.attributes.value?.value;
  if (value?.case !== "tensor") return [];
  const tensor = fromTensorProto(value.value, `the constant "${constant?.name}"`);
  return tensor.dtype === "bytes" ? tensor.data.map((bytes) => TEXT.decode(bytes)) : [];
}

/** The edge that a value comes from, past the nodes that only pass it on. */
export function origin(graph: Graph, edge: Edge): Edge {
  let current = edge;
  for (let node = graph.get(current.node); node?.op === "Identity"; node = graph.get(current.node)) {
    current = node.inputs[0]!;
  }
  return current;
}
