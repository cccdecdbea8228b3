import { isUtf8 } from "node:buffer";
import { defineJob } from "../../platform/codec-host/job.ts";
import { isLargeText, LARGE_MESSAGE_BYTES } from "../../platform/codec-host/large-message.ts";
import { topK } from "../../tensor/along-axis.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { rowWriter, type TensorStyle, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import type { TensorSpec } from "../../tensor/signature/signature.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";
import { namedSchema } from "../value-schema.ts";

/** The outputs of an answer, each with the labels of its classes where the answer names them. */
export type NamedOutputs = readonly (readonly [name: string, tensor: Tensor, labels?: readonly string[] | undefined])[];

/** Classes of a row that an answer names: as many as pipelines of Hugging Face do. */
const NAMED_CLASSES = 5;
/** Rows up to which it does: labels are for people, who read no more. */
const MAX_NAMED_ROWS = 1024;

/** The member of an answer that names the likeliest classes of an output. */
function classesMember(output: string): string {
  return `${output}_classes`;
}

/** The JSON schemas of the members that name likeliest classes, by the names of those. */
export function classesSchemas(outputs: readonly TensorSpec[]): Readonly<Record<string, object>> {
  const classes = { type: "object", properties: { label: { type: "string" }, score: { type: ["number", "null"] } } };
  const named = outputs.filter(({ dtype, labels }) => labels !== undefined && dtype.includes("float"));
  const members = named.map(({ name, shape }) => {
    const row = { type: "array", items: classes, maxItems: NAMED_CLASSES };
    return [classesMember(name), shape?.length === 1 ? row : { type: "array", items: row }] as const;
  });
  return Object.fromEntries(members);
}

/** The JSON schema of an answer with outputs of a model. */
export function answerSchema(outputs: readonly TensorSpec[]): object {
  const { properties, ...schema } = namedSchema(outputs);
  return { ...schema, properties: { ...classesSchemas(outputs), ...properties } };
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
  for (const [index, [name, tensor, labels]] of outputs.entries()) {
    if (index > 0) writer.ascii(",");
    writer.string(name);
    writer.ascii(":");
    writeTensor(writer, tensor, STYLE);
    if (labels === undefined) continue;
    writer.ascii(",");
    writer.string(classesMember(name));
    writer.ascii(":");
    writeClasses(writer, tensor, labels);
  }
  writer.ascii("}");
}

/**
 * All outputs of an answer, with the labels of those that are scores of classes, by the facts of a model's outputs:
 * of at most 1024 rows, where no output has the name of the classes' member.
 */
export function withLabels(outputs: NamedOutputs, specs: readonly TensorSpec[] = []): NamedOutputs {
  const known = new Map(specs.flatMap(({ name, labels }) => (labels === undefined ? [] : [[name, labels] as const])));
  if (known.size === 0) return outputs;
  const names = new Set(outputs.map(([name]) => name));
  return outputs.map(([name, tensor]) => {
    const labels = known.get(name);
    const isNamed = labels !== undefined && hasScores(tensor, labels) && !names.has(classesMember(name));
    return isNamed ? [name, tensor, labels] : [name, tensor];
  });
}

/** Labels of an output whose columns are open may be those of another number of classes. */
function hasScores({ dtype, shape }: Tensor, labels: readonly string[]): boolean {
  const [rows = 0] = shape.length === 1 ? [1] : shape;
  const isOfRows = shape.length === 1 || shape.length === 2;
  return dtype.includes("float") && isOfRows && rows <= MAX_NAMED_ROWS && shape.at(-1) === labels.length;
}

/** Checks if writing outputs is work for a codec thread. */
export function isLargeOutputs(outputs: NamedOutputs): boolean {
  return isLargeText(outputs.map(([, tensor]) => tensor)) || labelCharacters(outputs) > LARGE_MESSAGE_BYTES;
}

/** The most that the labels of an answer's classes may take. */
function labelCharacters(outputs: NamedOutputs): number {
  return outputs.reduce((sum, [, { shape }, labels = []]) => {
    const rows = shape.length === 1 ? 1 : shape[0]!;
    return sum + rows * NAMED_CLASSES * labels.reduce((longest, label) => Math.max(longest, label.length), 0);
  }, 0);
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
