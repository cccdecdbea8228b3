import { readFileSync } from "node:fs";
import type { ModelSource } from "../model-source.ts";
import { graphFiles } from "./graph-files.ts";
import { namesOperation } from "./names-operation.ts";

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
  return graphFiles(source).some((file) => {
    const bytes = readFileSync(file);
    return (
      WRITERS.some((name) => bytes.includes(namesOperation(name))) ||
      count(bytes, namesOperation("AssignVariableOp")) > count(bytes, namesOperation("VarHandleOp"))
    );
  });
}

function count(bytes: Buffer, part: Buffer): number {
  let found = 0;
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) found++;
  return found;
}
