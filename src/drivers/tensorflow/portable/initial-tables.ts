import { readFileSync } from "node:fs";
import { join } from "node:path";
import { failedPrecondition } from "../../../errors.ts";
import { readProblem } from "../../../text/read-problem.ts";
import type { MetaGraphDef } from "../saved-model/meta-graph.ts";
import { parseMessage } from "../saved-model/tensorflow-messages.ts";
import { type Edge, type Graph, type GraphNode, parseEdge } from "./graph.ts";
import { type FunctionLibrary, GraphInliner } from "./graph-inliner.ts";
import { Refusal } from "./refusal.ts";
import { origin } from "./restored-variables.ts";

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

/** Folder of a model, and the variables that it has from its checkpoint. */
interface ModelFiles {
  readonly folder: string;
  readonly restored: ReadonlyMap<string, unknown>;
}

/** The tables that a model's initialisation fills; throws {@link Refusal} for whatever else that does. */
export function findInitialTables(
  meta: MetaGraphDef,
  library: FunctionLibrary,
  { folder, restored }: ModelFiles,
): InitialTable[] {
  const start = initialisationOf(meta);
  if (start === undefined || meta.graphDef === undefined) return [];
  const inliner = new GraphInliner(library);
  inliner.addGraph(meta.graphDef);
  inliner.reachNode(start);
  const graph = inliner.nodes;
  const source = { assets: assetFiles(meta), folder, assigned: assignedPaths(graph) };
  for (const variable of source.assigned.keys())
    if (restored.has(variable)) throw new Refusal(`the assignment of "${variable}" while the model is initialised`);
  const tables: InitialTable[] = [];
  for (const node of graph.values()) {
    const table = readTableNode(node, graph, source);
    if (table !== undefined) tables.push(table);
    else if (!HARMLESS.has(node.op)) throw new Refusal(`${node.op} while the model is initialised`);
  }
  return tables;
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
  /** By the node of a variable that holds a path: where it comes from. */
  readonly assigned: ReadonlyMap<string, string>;
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

/**
 * Newer exports pass the path of an asset through a variable. One that the model
 * computes with has no value here, and is refused there.
 */
function assignedPaths(graph: Graph): Map<string, string> {
  const paths = new Map<string, string>();
  for (const { op, inputs } of graph.values()) {
    const [variable, value] = inputs;
    if (ASSIGN.test(op) && variable && value) paths.set(variable.node, origin(graph, value).node);
  }
  return paths;
}

/** The file whose path a node gives. */
function assetOf(graph: Graph, { node }: Edge, { assets, assigned }: Source): string | undefined {
  const read = graph.get(node);
  // The variables of TensorFlow 1 are read without an operation of their own.
  const variable = read?.op === "ReadVariableOp" ? read.inputs[0]?.node : node;
  return assets.get(assigned.get(variable ?? "") ?? node);
}

function readTableNode(node: GraphNode, graph: Graph, source: Source): InitialTable | undefined {
  const [table, keys, values] = node.inputs.map((edge) => origin(graph, edge)) as [Edge, Edge, Edge];
  if (/^(LookupTableImport|InitializeTable)(V2)?$/.test(node.op)) return { table: table.node, keys, values, graph };
  if (!/^InitializeTableFromTextFile(V2)?$/.test(node.op)) return undefined;
  const filename = assetOf(graph, keys, source);
  if (filename === undefined) throw new Refusal(`${node.op} of a file that is not among the model's assets`);
  return { table: table.node, lines: readLines(join(source.folder, "assets", filename), filename), node };
}

function readLines(path: string, filename: string): Uint8Array[] {
  const bytes = readAsset(path, filename);
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    // TensorFlow drops every carriage return, wherever it stands.
    lines.push(bytes.subarray(start, end === -1 ? bytes.length : end).filter((byte) => byte !== CARRIAGE_RETURN));
    start = end === -1 ? bytes.length : end + 1;
  }
  return lines;
}

function readAsset(path: string, filename: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw failedPrecondition(`The model's asset "${filename}" ${readProblem(cause)}.`, cause);
  }
}
