import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { failedPrecondition } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import type { MetaGraphDef } from "../saved-model/graph-def.ts";
import { fromTensorProto } from "../saved-model/tensor-proto.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";
import { parseSlice, type VariableSlice } from "./checkpoint.ts";
import { type Edge, type Graph, type GraphNode, parseEdge } from "./graph.ts";
import { type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import { Refusal } from "./refusal.ts";

/** A table that the model fills when it is loaded. */
export type InitialTable = { readonly table: string } & (
  | { readonly keys: Edge; readonly values: Edge; readonly graph: Graph }
  | { readonly lines: readonly Uint8Array[]; readonly node: GraphNode }
);

/** Further operations that may run while a model is initialised, without effect here. */
const HARMLESS: ReadonlySet<string> = new Set([
  "Arg",
  "Assign",
  "AssignVariableOp",
  "Cast",
  "Const",
  "HashTable",
  "HashTableV2",
  "Identity",
  "MutableHashTable",
  "MutableHashTableV2",
  "NoOp",
  "Placeholder",
  "Range",
  "ReadVariableOp",
  "VarHandleOp",
  "Variable",
  "VariableV2",
]);
const ASSIGN = /^Assign(VariableOp)?$/;
const [NEWLINE, CARRIAGE_RETURN] = [0x0a, 0x0d];

/** A value that is computed from constants while a model is loaded. */
export interface InitialValue {
  readonly value: Edge;
  readonly graph: Graph;
}

/** The work of a model's initialisation. */
interface Initialisation {
  readonly tables: readonly InitialTable[];
  /** By the variable's node; they replace values from the checkpoint. Not those with paths of assets. */
  readonly variables: ReadonlyMap<string, InitialValue>;
}

/** Finds what a model's initialisation fills and assigns; throws {@link Refusal} for whatever else that does. */
export function findInitialisation(meta: MetaGraphDef, library: FunctionLibrary, folder: string): Initialisation {
  const start = initialisationOf(meta);
  if (start === undefined || meta.graphDef === undefined) return { tables: [], variables: new Map() };
  const inliner = new GraphInliner(library);
  inliner.addGraph(meta.graphDef);
  inliner.reachNode(start);
  const graph = inliner.nodes;
  const source = { assets: assetFiles(meta), folder, assigned: assignedValues(graph) };
  const variables = new Map<string, InitialValue>();
  for (const [variable, value] of source.assigned) {
    if (!source.assets.has(value.node)) variables.set(variable, { value, graph });
  }
  const tables: InitialTable[] = [];
  for (const node of graph.values()) {
    const table = readTableNode(node, graph, source);
    if (table !== undefined) tables.push(table);
    else if (!HARMLESS.has(node.op)) throw new Refusal(`${node.op} while the model is initialised`);
  }
  return { tables, variables };
}

/** TensorFlow 2 names the operation by a signature, TensorFlow 1 by a collection. */
function initialisationOf({ signatureDef, collectionDef }: MetaGraphDef): string | undefined {
  const info = signatureDef.__saved_model_init_op?.outputs.__saved_model_init_op;
  if (info?.encoding.case === "name") return parseEdge(info.encoding.value).node;
  for (const name of ["saved_model_main_op", "legacy_init_op"]) {
    const kind = collectionDef[name]?.kind;
    if (kind?.case === "nodeList" && kind.value.value[0] !== undefined) return parseEdge(kind.value.value[0]).node;
  }
  return undefined;
}

interface Source {
  /** By the node that holds the path: the file's name. */
  readonly assets: ReadonlyMap<string, string>;
  readonly folder: string;
  /** By the variable's node: the edge that gives its value. */
  readonly assigned: ReadonlyMap<string, Edge>;
}

/** TensorFlow 1 keeps them in a collection. */
function assetFiles({ assetFileDef, collectionDef }: MetaGraphDef): Map<string, string> {
  const kind = collectionDef.saved_model_assets?.kind;
  const packed = kind?.case === "anyList" ? kind.value.value : [];
  const files = assetFileDef.length > 0 ? assetFileDef : packed.map(({ value }) => parseMessage("AssetFileDef", value));
  return new Map(
    files.map(({ tensorInfo, filename }) => [parseEdge(String(tensorInfo?.encoding.value)).node, filename]),
  );
}

/** The values of variables; throws {@link Refusal} for one that gets several. */
function assignedValues(graph: Graph): Map<string, Edge> {
  const values = new Map<string, Edge>();
  for (const { op, inputs } of graph.values()) {
    const [variable, value] = inputs;
    if (!ASSIGN.test(op) || variable === undefined || value === undefined) continue;
    const { node } = origin(graph, variable);
    if (values.has(node)) throw new Refusal(`two assignments of "${node}" while the model is initialised`);
    values.set(node, origin(graph, value));
  }
  return values;
}

/** The file whose path a node gives. */
function assetOf(graph: Graph, { node }: Edge, { assets, assigned }: Source): string | undefined {
  const read = graph.get(node);
  // The variables of TensorFlow 1 are read without an operation for it.
  const variable = read?.op === "ReadVariableOp" ? read.inputs[0]?.node : node;
  // Newer exports pass the path of an asset through a variable.
  return assets.get(assigned.get(variable ?? "")?.node ?? node);
}

function readTableNode(node: GraphNode, graph: Graph, source: Source): InitialTable | undefined {
  const [table, keys, values] = node.inputs.map((edge) => origin(graph, edge)) as [Edge, Edge, Edge];
  if (/^(LookupTableImport|InitializeTable)(V2)?$/.test(node.op)) return { table: table.node, keys, values, graph };
  if (!/^InitializeTableFromTextFile(V2)?$/.test(node.op)) return undefined;
  const filename = assetOf(graph, keys, source);
  if (filename === undefined) throw new Refusal(`${node.op} of a file that is not among the model's assets`);
  return { table: table.node, lines: readLines(join(source.folder, "assets"), filename), node };
}

function readLines(folder: string, filename: string): Uint8Array[] {
  const bytes = readAsset(folder, filename);
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    // TensorFlow drops every carriage return, wherever it stands.
    lines.push(bytes.subarray(start, end === -1 ? bytes.length : end).filter((byte) => byte !== CARRIAGE_RETURN));
    start = end === -1 ? bytes.length : end + 1;
  }
  return lines;
}

function readAsset(folder: string, filename: string): Uint8Array {
  const path = join(folder, filename);
  if (relative(folder, path).startsWith(".."))
    throw failedPrecondition(`The model's asset "${filename}" lies outside of its folder assets.`);
  try {
    return readFileSync(path);
  } catch (cause) {
    throw failedPrecondition(`The model's asset "${filename}" ${readProblem(cause)}.`, cause);
  }
}

/** Values that a model reads from its checkpoint. */
export interface Restored {
  /** By the variable's node: its key in the checkpoint, or which part it is of what lies there. */
  readonly variables: ReadonlyMap<string, string | VariableSlice>;
  /** By the table's node: the keys of its keys and values. */
  readonly tables: ReadonlyMap<string, { readonly keys: string; readonly values: string }>;
}

const NOTHING_RESTORED: Restored = { variables: new Map(), tables: new Map() };
const TEXT = new TextDecoder();

/**
 * Finds out which variable has which value by following the graph that restores them. Names tell nothing: Keras calls
 * many variables alike.
 */
export function findRestored(meta: MetaGraphDef, library: FunctionLibrary): Restored {
  const restore = meta.saverDef?.restoreOpName ?? "";
  if (restore === "" || meta.graphDef === undefined) return NOTHING_RESTORED;
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
 * Reads the key that a value is read under; undefined if it does not come from the
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
function origin(graph: Graph, edge: Edge): Edge {
  let current = edge;
  for (let node = graph.get(current.node); node?.op === "Identity"; node = graph.get(current.node)) {
    current = node.inputs[0]!;
  }
  return current;
}
