import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelSource, SAVED_MODEL_FILES } from "../model-source.ts";

/**
 * Names in a graph that TensorFlow 2.21 cannot fuse with the next nodes, but tries to, which ends the process:
 * depthwise convolutions with explicit padding.
 */
const SIGNS = ["DepthwiseConv2dNative", "EXPLICIT"];

/**
 * Checks if a model must be run as it is written, layer by layer. Looks for names in the file: some that would do no
 * harm are found too, and run slower.
 */
export function breaksFusing(source: ModelSource): boolean {
  return someGraph(source, (bytes) => SIGNS.every((text) => bytes.includes(text, 0, "latin1")));
}

/** Operations that read or write a file while a signature runs; its name is a tensor. */
const FILE_OPERATIONS = [
  ...["ReadFile", "WriteFile", "MatchingFiles", "ReaderReadV2", "ReaderReadUpToV2"],
  ...["TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "FixedLengthRecordDataset"],
  ...["FixedLengthRecordDatasetV2", "CSVDataset", "CSVDatasetV2", "SqlDataset"],
];

/** Checks if runs of a model may read files that tensors name, by the names of operations in its file. */
export function usesFiles(source: ModelSource): boolean {
  return someGraph(source, (bytes) => hasOperation(bytes, FILE_OPERATIONS));
}

/** Operations that change variables, tables and queues, or take from them; no restoring of a checkpoint has them. */
const WRITERS = [
  ...["AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"],
  ...["ScatterAdd", "ScatterSub", "ScatterUpdate", "ScatterNdUpdate", "ScatterNdAdd"],
  ...["ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate", "ResourceScatterNdUpdate"],
  ...["ResourceScatterNdAdd", "LookupTableInsert", "LookupTableInsertV2", "LookupTableRemoveV2"],
  ...["QueueEnqueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2", "RngReadAndSkip", "RngSkip"],
  ...["StatefulUniform", "StatefulUniformInt", "StatefulStandardNormalV2"],
];

/**
 * Checks if runs of a model may change the results of later runs. Looks for names in its file: restoring a checkpoint
 * assigns to each variable once, so that one more tells of an assignment elsewhere.
 */
export function writes(source: ModelSource): boolean {
  return someGraph(
    source,
    (bytes) => hasOperation(bytes, WRITERS) || count(bytes, "AssignVariableOp") > count(bytes, "VarHandleOp"),
  );
}

function count(bytes: Buffer, operation: string): number {
  const part = namesOperation(operation);
  let found = 0;
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) found++;
  return found;
}

/** Checks the files that may hold a model's graph, until one of them passes. */
export function someGraph({ format, path }: ModelSource, passes: (bytes: Buffer) => boolean): boolean {
  const files = format === "saved-model" ? SAVED_MODEL_FILES.map((name) => join(path, name)) : [path];
  return files.some((file) => existsSync(file) && passes(readFileSync(file)));
}

/** Checks if a file of a graph has an operation of one of these names. */
export function hasOperation(bytes: Buffer, names: readonly string[]): boolean {
  return names.some((name) => bytes.includes(namesOperation(name)));
}

/** `op` of a NodeDef in protobuf's form: field 2, the length, the name. */
function namesOperation(name: string): Buffer {
  return Buffer.from([0x12, name.length, ...Buffer.from(name)]);
}
