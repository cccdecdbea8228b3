import { readFileSync } from "node:fs";
import type { ModelSource } from "../model-source.ts";
import { graphFiles } from "./graph-files.ts";
import { namesOperation } from "./names-operation.ts";

/** Operations that read or write a file while a signature runs; its name is a tensor. */
const FILE_OPERATIONS = [
  ...["ReadFile", "WriteFile", "MatchingFiles", "ReaderReadV2", "ReaderReadUpToV2"],
  ...["TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "FixedLengthRecordDataset"],
  ...["FixedLengthRecordDatasetV2", "CSVDataset", "CSVDatasetV2", "SqlDataset"],
];

/** Checks if runs of a model may read files that tensors name, by the names of operations in its file. */
export function usesFiles(source: ModelSource): boolean {
  return graphFiles(source).some((file) => {
    const bytes = readFileSync(file);
    return FILE_OPERATIONS.some((name) => bytes.includes(namesOperation(name)));
  });
}
