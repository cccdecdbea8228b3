import { isUtf8 } from "node:buffer";
import { defineJob } from "../../platform/codec-host/job.ts";
import { topK } from "../../tensor/along-axis.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { rowWriter, type TensorStyle, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";
import { namedSchema } from "../value-schema.ts";

/** The outputs of an answer, each with the names of its classes where they are known. */
export type NamedOutputs = readonly (readonly [name: string, tensor: Tensor, labels?: readonly string[] | undefined])[];

/** Classes of a row that an answer names: as many as pipelines of Hugging Face do. */
const NAMED_CLASSES = 5;

/** The member of an answer that names the likeliest classes of an output. */
function classesMember(output: string): string {
  return `${output}_classes`;
}

/** The JSON schema of an answer with outputs of a model. */
export function answerSchema(outputs: readonly TensorSpec[]): object {
  const classes = { type: "object", properties: { label: { type: "string" }, score: { type: ["number", "null"] } } };
  const named = outputs.filter(({ dtype, labels }) => labels !== undefined && dtype.includes("float"));
  const members = named.map(({ name, shape }) => {
    const row = { type: "array", items: classes, maxItems: NAMED_CLASSES };
    return [classesMember(name), shape?.length === 1 ? row : { type: "array", items: row }] as const;
  });
  const { properties, ...schema } = namedSchema(outputs);
  return { ...schema, properties: { ...Object.fromEntries(members), ...properties } };
}

/** Writes outputs as a JSON object with a value for each, and the likeliest classes where they have labels. */
export function writeOutputs(outputs: NamedOutputs): Uint8Array {
  const writer = new JsonWriter();
  writeOutputsTo(writer, outputs);
  return writer.finish();
}

/** {@link writeOutputs} for a codec thread. */
export const writeOutputsJob = defineJob(import.meta.url, "writeOutputsJob", writeOutputs);

/** {@link writeOutputs} with a writer. */
export function writeOutputsTo(writer: JsonWriter, outputs: NamedOutputs): void {
  writer.ascii("{");
  const names = new Set(outputs.map(([name]) => name));
  for (const [index, [name, tensor, labels]] of outputs.entries()) {
    if (index > 0) writer.ascii(",");
    writer.string(name);
    writer.ascii(":");
    writeTensor(writer, tensor, STYLE);
    const member = classesMember(name);
    if (labels === undefined || !hasScores(tensor, labels) || names.has(member)) continue;
    writer.ascii(",");
    writer.string(member);
    writer.ascii(":");
    writeClasses(writer, tensor, labels);
  }
  writer.ascii("}");
}

/** Labels of an output whose columns are open may be those of another number of classes. */
function hasScores({ dtype, shape }: Tensor, labels: readonly string[]): boolean {
  return dtype.includes("float") && (shape.length === 1 || shape.length === 2) && shape.at(-1) === labels.length;
}

/** A list of `{"label", "score"}` for each row, the highest score first; one list for a tensor of rank 1. */
function writeClasses(writer: JsonWriter, scores: Tensor, labels: readonly string[]): void {
  const { values, indices } = topK(scores, NAMED_CLASSES);
  const width = values.shape.at(-1) ?? 0;
  const count = elementCount(values.shape);
  const writeScore = rowWriter(writer, createTensor(values.dtype, [count], values.data as never), STYLE);
  const writeRow = (start: number) => {
    writer.ascii("[");
    for (let at = start; at < start + width; at++) {
      writer.ascii(at > start ? ',{"label":' : '{"label":');
      writer.string(labels[indices.data[at] as number] ?? "");
      writer.ascii(',"score":');
      writeScore(at);
      writer.ascii("}");
    }
    writer.ascii("]");
  };
  if (scores.shape.length === 1) {
    writeRow(0);
    return;
  }
  writer.ascii("[");
  for (let start = 0; start < count; start += width) {
    if (start > 0) writer.ascii(",");
    writeRow(start);
  }
  writer.ascii("]");
}

/**
 * Strict JSON: NaN is null, an infinity the largest value of its dtype; bytes are text
 * if they are UTF-8, else base64.
 */
const STYLE: TensorStyle = {
  separator: ",",
  nonFinite: "largest",
  bytes: (writer, element) => {
    if (isUtf8(element)) writer.text(element);
    else writer.base64(element);
  },
};
