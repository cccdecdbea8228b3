import { existsSync } from "node:fs";
import { join } from "node:path";
import { readIndex } from "../../drivers/tensorflow/portable/checkpoint.ts";
import { dataTypeName, toDType } from "../../drivers/tensorflow/saved-model/data-type.ts";
import type { GraphDef, NodeDef, TensorProto, TensorShape } from "../../drivers/tensorflow/saved-model/graph-def.ts";
import { loadFrozenGraph, parseSavedModel } from "../../drivers/tensorflow/saved-model/load-saved-model.ts";
import { fromTensorShape } from "../../drivers/tensorflow/saved-model/tensor-proto.ts";
import { parseMessage } from "../../drivers/tensorflow/saved-model/tensorflow-messages.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { countOne, countWeight, type FileFacts, type WeightCount } from "./file-facts.ts";

/** Facts about a SavedModel's folder: the operators of its graphs and functions, its variables and constants. */
export function inspectSavedModel(folder: string): FileFacts {
  const { metaGraphs, savedModelSchemaVersion: version } = parseSavedModel(folder);
  const weights = new Map<string, WeightCount>();
  const operators = new Map<string, number>();
  for (const { graphDef } of metaGraphs) if (graphDef !== undefined) countGraph(graphDef, { operators, weights });
  countVariables(folder, weights);
  const writer = metaGraphs[0]?.metaInfoDef?.tensorflowVersion ?? "";
  const tags = metaGraphs.map(({ metaInfoDef }) => metaInfoDef?.tags.join(",") || "(none)");
  const assets = metaGraphs.flatMap(({ assetFileDef }) => assetFileDef.map(({ filename }) => filename));
  return {
    format: `TensorFlow SavedModel, version ${version}`,
    ...(writer !== "" && { producer: `TensorFlow ${writer}` }),
    operators,
    weights,
    metadata: { tags: tags.join("; "), ...(assets.length > 0 && { assets: [...new Set(assets)].join(", ") }) },
  };
}

/** Facts about a frozen graph's file. */
export function inspectFrozenGraph(path: string): FileFacts {
  const counts = { operators: new Map<string, number>(), weights: new Map<string, WeightCount>() };
  countGraph(loadFrozenGraph(path), counts);
  return { format: "TensorFlow frozen graph", ...counts, metadata: {} };
}

interface Counts {
  readonly operators: Map<string, number>;
  readonly weights: Map<string, WeightCount>;
}

function countGraph({ node, library }: GraphDef, counts: Counts): void {
  const bodies = library?.function.flatMap(({ nodeDef }) => nodeDef) ?? [];
  for (const each of [...node, ...bodies]) countNode(each, counts);
}

function countNode({ op, attr }: NodeDef, { operators, weights }: Counts): void {
  countOne(operators, op);
  const value = op === "Const" && Object.hasOwn(attr, "value") ? attr.value?.value : undefined;
  if (value?.case !== "tensor") return;
  const { dtype, tensorShape, stringVal } = value.value as TensorProto;
  const texts = stringVal.reduce((sum, text) => sum + text.length, 0);
  countWeight(weights, typeName(dtype), sizeOf(dtype, tensorShape, texts));
}

/** Of the checkpoint's index alone. */
function countVariables(folder: string, weights: Map<string, WeightCount>): void {
  const index = join(folder, "variables", "variables.index");
  if (!existsSync(index)) return;
  for (const [key, bytes] of readIndex(index)) {
    // What follows the text in a key names one part of a variable, which has an entry of its own too.
    if (key === "" || key === "_CHECKPOINTABLE_OBJECT_GRAPH" || key.startsWith("\0")) continue;
    const { dtype, shape, size } = parseMessage("BundleEntryProto", bytes);
    countWeight(weights, typeName(dtype), sizeOf(dtype, shape, Number(size)));
  }
}

function typeName(dataType: number): string {
  return toDType(dataType) ?? dataTypeName(dataType);
}

function sizeOf(dataType: number, shape: TensorShape | undefined, otherBytes: number) {
  const elements = (fromTensorShape(shape) ?? []).reduce((product, size) => product * size, 1);
  const dtype = toDType(dataType);
  const isSized = dtype !== undefined && dtype !== "bytes";
  return { elements, bytes: isSized ? elements * numericLayout(dtype).bytes : otherBytes };
}
