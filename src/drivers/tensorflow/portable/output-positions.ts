import type { Attribute, NodeDef } from "../saved-model/graph-def.ts";

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
export function hasSeveralOutputs(op: string): boolean {
  return Object.hasOwn(OUTPUTS, op) || Object.hasOwn(LISTS, op);
}

/** The output of an operation that a function's body means by `node:NAME:INDEX`; undefined where that is not known. */
export function outputPosition({ op, attr }: NodeDef, name: string, index: number): number | undefined {
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
