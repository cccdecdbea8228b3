import { ServingError } from "../../errors.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../tensor/tensor.ts";
import type { OnnxPort } from "./engine.ts";
import type { OnnxMap, OnnxValues } from "./onnx-value.ts";
import type { ProtobufField, ProtobufFile } from "./protobuf-file.ts";

// Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx-ml.proto
const NODE_OF_GRAPH = 1;
const NODE = { output: 2, operator: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, integers: 8, texts: 9 };
const CLASSES: ReadonlySet<string> = new Set(["classlabels_strings", "classlabels_int64s"]);

/** The names of the classes by which the ZipMap operators of a graph name scores, by their outputs. */
export function readZipMaps(file: ProtobufFile, graph: ProtobufField): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const node of file.fields(graph.start, graph.end)) {
    if (node.number !== NODE_OF_GRAPH || textOf(file, node, NODE.operator) !== "ZipMap") continue;
    const attributes = fieldsOf(file, node, NODE.attribute);
    const classes = attributes.find((attribute) => CLASSES.has(textOf(file, attribute, ATTRIBUTE.name)));
    if (classes !== undefined) found.set(textOf(file, node, NODE.output), labelsOf(file, classes));
  }
  return found;
}

function fieldsOf(file: ProtobufFile, { start, end }: ProtobufField, number: number): readonly ProtobufField[] {
  return [...file.fields(start, end)].filter((field) => field.number === number);
}

function textOf(file: ProtobufFile, message: ProtobufField, number: number): string {
  const [first] = fieldsOf(file, message, number);
  return first === undefined ? "" : file.text(first);
}

function labelsOf(file: ProtobufFile, attribute: ProtobufField): readonly string[] {
  const texts = fieldsOf(file, attribute, ATTRIBUTE.texts).map((field) => file.text(field));
  return texts.length > 0
    ? texts
    : fieldsOf(file, attribute, ATTRIBUTE.integers).flatMap((field) => file.integers(field).map(String));
}

/** The tensor that requests get of an output that names scores; undefined for any other output. */
export function scoresSpec({ name, type }: OnnxPort, labels: readonly string[] | undefined): TensorSpec | undefined {
  const scores = type.kind === "sequence" && type.of.kind === "map" ? type.of.of : undefined;
  if (labels === undefined || scores?.kind !== "tensor" || scores.dtype !== "float32") return undefined;
  return { name, dtype: "float32", shape: [-1, labels.length], labels };
}

/** Outputs with those of these specs, which are maps, as tensors: a row for each map, a column for each class. */
export function withScores(values: OnnxValues, specs: readonly TensorSpec[]): Tensors {
  const tensors = specs.flatMap((spec) => {
    const maps = values[spec.name];
    return maps === undefined ? [] : [[spec.name, toScores(maps as readonly OnnxMap[], spec)] as const];
  });
  return createTensors([...Object.entries(values as Tensors), ...tensors]);
}

function toScores(maps: readonly OnnxMap[], { name, labels = [] }: TensorSpec): Tensor {
  const data = new Float32Array(maps.length * labels.length);
  for (const [row, map] of maps.entries())
    for (const [column, label] of labels.entries()) {
      const score = map[label];
      if (typeof score !== "number") throw new ServingError("internal", `Output "${name}" has no score of "${label}".`);
      data[row * labels.length + column] = score;
    }
  return createTensor("float32", [maps.length, labels.length], data);
}
