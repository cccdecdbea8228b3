import type { Attribute, FunctionDef, NodeDef } from "../saved-model/graph-def.ts";
import type { Edge } from "./graph.ts";
import { KERNELS } from "./kernels/kernel-table.ts";
import { Refusal } from "./refusal.ts";

/** Turns a text of a node's inputs into the edge that it means. */
export type ReadEdge = (text: string) => Edge;

/** Reads `node:output:index`, as a body writes it. */
export function createOutputReader({ nodeDef }: FunctionDef): (text: string, prefix: string) => Edge {
  const nodes = new Map(nodeDef.map((node) => [node.name, node]));
  const outputs = new Map<string, string>();
  return (text, prefix) => {
    const [name = "", output = "", index = "0"] = text.split(":");
    const node = nodes.get(name);
    if (node === undefined) throw new Refusal(`the graph has no node "${name}"`);
    const position = outputPosition(node, output, Number(index));
    // An operation that has one output for all we know must not be asked for two; one that
    // is not known is refused later.
    const isSingle = Object.hasOwn(KERNELS, node.op) && !hasSeveralOutputs(node.op);
    const isMixed = isSingle && (outputs.get(name) ?? output) !== output;
    outputs.set(name, output);
    if (position === undefined || isMixed) throw new Refusal(`${node.op} ("${name}") with the output "${output}"`);
    return { node: prefix + name, output: position };
  };
}

/** Edges that give each of a function's results. */
export function resultsOf({ signature, ret }: FunctionDef, readEdge: ReadEdge): Edge[] {
  return (signature?.outputArg ?? []).map(({ name }) => readEdge(ret[name] ?? name));
}

/** The nodes of a body that have to run whether or not a result needs them. */
export function effectsOf({ controlRet }: FunctionDef, prefix: string): string[] {
  return Object.values(controlRet).map((node) => prefix + node);
}

/** The names of the outputs of operations that have several; one that is a list comes last, or is the only one. */
const OUTPUTS: Readonly<Record<string, readonly string[]>> = {
  FusedBatchNorm: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"],
  FusedBatchNormV2: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"],
  FusedBatchNormV3: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"],
  ListDiff: ["out", "idx"],
  LookupTableExportV2: ["keys", "values"],
  MaxPoolWithArgmax: ["output", "argmax"],
  Merge: ["output", "value_index"],
  NonMaxSuppressionV4: ["selected_indices", "valid_outputs"],
  NonMaxSuppressionV5: ["selected_indices", "selected_scores", "valid_outputs"],
  RaggedGather: ["output_nested_splits", "output_dense_values"],
  RaggedRange: ["rt_nested_splits", "rt_dense_values"],
  SparseFillEmptyRows: ["output_indices", "output_values", "empty_row_indicator", "reverse_index_map"],
  SparseReshape: ["output_indices", "output_shape"],
  StringSplit: ["indices", "values", "shape"],
  StringSplitV2: ["indices", "values", "shape"],
  Switch: ["output_false", "output_true"],
  TensorListConcatV2: ["tensor", "lengths"],
  TensorListPopBack: ["output_handle", "tensor"],
  TopK: ["values", "indices"],
  TopKV2: ["values", "indices"],
  Unique: ["y", "idx"],
  UniqueV2: ["y", "idx"],
  UniqueWithCounts: ["y", "idx", "count"],
  UniqueWithCountsV2: ["y", "idx", "count"],
};

/** The lists that an operation with several gives, in order, and the attribute that says how long each is. */
const LISTS: Readonly<Record<string, readonly (readonly [output: string, length: string])[]>> = {
  ParseExample: [
    ["sparse_indices", "Nsparse"],
    ["sparse_values", "Nsparse"],
    ["sparse_shapes", "Nsparse"],
    ["dense_values", "Tdense"],
  ],
  ParseExampleV2: [
    ["sparse_indices", "num_sparse"],
    ["sparse_values", "num_sparse"],
    ["sparse_shapes", "num_sparse"],
    ["dense_values", "Tdense"],
  ],
};

/** Checks that an operation has more than one output, or list of them. */
function hasSeveralOutputs(op: string): boolean {
  return Object.hasOwn(OUTPUTS, op) || Object.hasOwn(LISTS, op);
}

/** The output of an operation that a function's body means by `node:NAME:INDEX`; undefined if that is not known. */
function outputPosition({ op, attr }: NodeDef, name: string, index: number): number | undefined {
  const lists = LISTS[op];
  if (lists !== undefined) {
    const place = lists.findIndex(([output]) => output === name);
    const before = lists.slice(0, place).map(([, length]) => lengthOf(attr[length]?.value));
    return place === -1 ? undefined : before.reduce((sum, length) => sum + length, index);
  }
  const outputs = OUTPUTS[op];
  // Any other operation here has one output, or one list of them.
  if (outputs === undefined) return index;
  const first = outputs.indexOf(name);
  return first === -1 ? undefined : first + index;
}

function lengthOf(attribute: Attribute | undefined): number {
  return attribute?.case === "list" ? attribute.value.type.length : Number(attribute?.value ?? 0);
}
