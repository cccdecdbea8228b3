import { isUtf8 } from "node:buffer";
import { defineJob } from "../../platform/codec-host/job.ts";
import { isLargeText } from "../../platform/codec-host/large-message.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import { reshape } from "../../tensor/packed-tensor.ts";
import { elementCount, type Tensor } from "../../tensor/tensor.ts";
import { type AnsweredOutput, type KserveAnswer, sentTensors } from "./kserve-answer.ts";
import type { RequestedOutput } from "./kserve-request.ts";
import { type Parameters, readBoolean } from "./parameters.ts";
import { isLargeRaw, rawSize, toRaw, toRawPieces } from "./raw-tensor.ts";

/** Form in which a client wants its answer. */
export interface AnswerForm {
  /** `binary_data_output`: the form of outputs without their own setting. */
  readonly isBinary: boolean;
  readonly outputs: readonly RequestedOutput[];
  /** True to write NaN and infinities as null, since strict JSON cannot express them. */
  readonly isStrict: boolean;
}

/** A body: JSON, followed by the binary outputs. */
export interface KserveBodyParts {
  readonly json: Uint8Array;
  readonly binary: readonly Uint8Array[];
}

/** Reads the form of the answer from a request. */
export function readForm(parameters: Parameters, outputs: readonly RequestedOutput[]): AnswerForm {
  return {
    isBinary: readBoolean(parameters, "binary_data_output") ?? false,
    isStrict: readBoolean(parameters, "strict_json") ?? false,
    outputs,
  };
}

/** Approximate length of an element's text, for the writer's first buffer. */
const BYTES_PER_ELEMENT = 8;

/** Writes an answer, large values without a copy; an empty output is never binary, as in Triton. */
export function writeAnswer(answer: KserveAnswer, form: AnswerForm): KserveBodyParts {
  const { json, binary } = writeParts(answer, form);
  return { json, binary: binary.flatMap(toRawPieces) };
}

interface AnswerParts {
  readonly json: Uint8Array;
  readonly binary: readonly Tensor[];
}

function writeParts(answer: KserveAnswer, form: AnswerForm): AnswerParts {
  const elements = textTensors(answer, form).reduce((sum, { shape }) => sum + elementCount(shape), 0);
  const writer = new JsonWriter(elements * BYTES_PER_ELEMENT);
  const binary = writeJson(writer, answer, form);
  return { json: writer.finish(), binary };
}

/** Writes the JSON of an answer; returns the tensors that follow it as bytes. */
export function writeJson(writer: JsonWriter, answer: KserveAnswer, form: AnswerForm): readonly Tensor[] {
  const binary: Tensor[] = [];
  writer.ascii("{");
  if (answer.id !== "") writeText(writer, '"id":', answer.id, ",");
  writeText(writer, '"model_name":', answer.model, ',"model_version":"');
  writer.ascii(String(answer.version));
  writer.ascii('","outputs":[');
  for (const output of answer.outputs) {
    if (output !== answer.outputs[0]) writer.ascii(",");
    const asBytes = isBinary(output, form);
    if (asBytes) binary.push(output.tensor);
    writeOutput(writer, output, { asBytes, isStrict: form.isStrict });
  }
  writer.ascii("]}");
  return binary;
}

/** {@link writeAnswer} for a codec thread, which copies. */
export const writeAnswerJob = defineJob(import.meta.url, "writeAnswerJob", (answer: KserveAnswer, form: AnswerForm) => {
  const { json, binary } = writeParts(answer, form);
  return { json, binary: binary.map(toRaw) };
});

/** Writes an answer without binary outputs in a codec thread. */
export const writeJsonJob = defineJob(
  import.meta.url,
  "writeJsonJob",
  (answer: KserveAnswer, form: AnswerForm) => writeAnswer(answer, form).json,
);

/** Checks if no output of an answer is binary. */
export function isAllJson({ outputs }: KserveAnswer, form: AnswerForm): boolean {
  return !outputs.some((output) => isBinary(output, form));
}

/** Checks if writing an answer is work for a codec thread: to send values as bytes from where they lie is not. */
export function isLargeJson(answer: KserveAnswer, form: AnswerForm): boolean {
  return sentTensors(answer).some(isLargeRaw) || isLargeText(textTensors(answer, form));
}

/** The outputs that are written as text. */
function textTensors(answer: KserveAnswer, form: AnswerForm): Tensor[] {
  if (isAllJson(answer, form)) return sentTensors(answer);
  return sentTensors({ outputs: answer.outputs.filter((output) => !isBinary(output, form)) });
}

function isBinary(output: AnsweredOutput, form: AnswerForm): output is BinaryOutput {
  return output.tensor !== undefined && elementCount(output.shape) > 0 && wantsBytes(output, form);
}

interface BinaryOutput extends AnsweredOutput {
  readonly tensor: Tensor;
}

function wantsBytes({ name }: AnsweredOutput, { isBinary, outputs }: AnswerForm): boolean {
  const own = outputs.find((output) => output.name === name);
  return (own && readBoolean(own.parameters, "binary_data")) ?? isBinary;
}

/** Writes a string between pieces of JSON that are written as they stand. */
function writeText(writer: JsonWriter, before: string, value: string, after: string): void {
  writer.ascii(before);
  writer.string(value);
  writer.ascii(after);
}

interface OutputForm {
  readonly asBytes: boolean;
  readonly isStrict: boolean;
}

function writeOutput(writer: JsonWriter, { name, datatype, shape, tensor }: AnsweredOutput, form: OutputForm): void {
  writeText(writer, '{"name":', name, ',"datatype":"');
  writer.ascii(datatype);
  writer.ascii('","shape":[');
  writer.ascii(shape.length === 1 ? String(shape[0]) : shape.join(","));
  if (tensor !== undefined && form.asBytes) writer.ascii(`],"parameters":{"binary_data_size":${rawSize(tensor)}}}`);
  else if (tensor !== undefined) {
    writer.ascii('],"data":');
    writeTensor(writer, flat(tensor), styleOf(form));
    writer.ascii("}");
  } else writer.ascii("]}");
}

/** Values are one list for any shape, as in Triton. */
function flat(tensor: Tensor): Tensor {
  return reshape(tensor, [elementCount(tensor.shape)]);
}

function styleOf({ isStrict }: Pick<AnswerForm, "isStrict">): TensorStyle {
  return isStrict ? STRICT : LENIENT;
}

const LENIENT: TensorStyle = { separator: ",", bytes: writeBytes };
const STRICT: TensorStyle = { ...LENIENT, nonFinite: "null" };

/** Bytes that are not UTF-8 cannot be expressed in the protocol; a broken string would be worse than an error. */
function writeBytes(writer: JsonWriter, element: Uint8Array): void {
  if (isUtf8(element)) {
    writer.text(element);
    return;
  }
  writer.ascii('{"b64":');
  writer.base64(element);
  writer.ascii("}");
}

/**
 * Writes an answer of Triton's generate extension: one object with each output by its name, one element as a value and
 * several as one list. Its keys have Triton's order, which is that of their bytes.
 */
export function writeGenerated(writer: JsonWriter, answer: KserveAnswer, form: AnswerForm): void {
  const members = membersOf(answer);
  members.forEach(([name, value], index) => {
    writer.ascii(index === 0 ? "{" : ",");
    writer.string(name);
    writer.ascii(":");
    if (typeof value === "string") writer.string(value);
    else writeMember(writer, name, { tensor: value, form });
  });
  writer.ascii("}");
}

/** Writes an answer of the generate extension, in a codec thread if it is large. */
export const writeGeneratedJob = defineJob(
  import.meta.url,
  "writeGeneratedJob",
  (answer: KserveAnswer, form: AnswerForm): Uint8Array => {
    const writer = new JsonWriter();
    writeGenerated(writer, answer, form);
    return writer.finish();
  },
);

type Member = readonly [name: string, value: string | Tensor];

/** An output whose name is that of a fact about the answer is left out, as by Triton. */
function membersOf({ id, model, version, outputs }: KserveAnswer): readonly Member[] {
  const members = new Map<string, string | Tensor>();
  if (id !== "") members.set("id", id);
  members.set("model_name", model);
  members.set("model_version", String(version));
  for (const { name, tensor } of outputs) if (tensor !== undefined && !members.has(name)) members.set(name, tensor);
  return [...members].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

interface MemberOutput {
  readonly tensor: Tensor;
  readonly form: AnswerForm;
}

/** Output with the details of a text, which the Open Inference Protocol has as an object. */
const DETAILS = "details";

function writeMember(writer: JsonWriter, name: string, { tensor, form }: MemberOutput): void {
  const count = elementCount(tensor.shape);
  const details = name === DETAILS && count === 1 ? objectOf(tensor) : undefined;
  if (details !== undefined) writer.ascii(details);
  else writeTensor(writer, reshape(tensor, count === 1 ? [] : [count]), styleOf(form));
}

/** The object of which a tensor's only element is the text, in ASCII and on one line; undefined = it is none. */
function objectOf(tensor: Tensor): string | undefined {
  const [bytes] = tensor.dtype === "bytes" ? tensor.data : [];
  if (bytes === undefined || !isUtf8(bytes)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return JSON.stringify(value).replace(/[^\0-\x7f]/g, escapeUnit);
  } catch {
    return undefined;
  }
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
