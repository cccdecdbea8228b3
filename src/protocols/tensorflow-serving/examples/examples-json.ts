import { invalidArgument, type ServingError } from "../../../errors.ts";
import { defineJob } from "../../../platform/codec-host/job.ts";
import { DecodeBudget, ELEMENT_BYTES } from "../../../platform/limits/memory/decode-budget.ts";
import { decodeBase64 } from "../../../tensor/codecs/json/decode-base64.ts";
import {
  dumpJson,
  isJsonList,
  isJsonObject,
  JsonNumbers,
  type JsonObject,
  type JsonValue,
  listLength,
} from "../../../tensor/codecs/json/json-value.ts";
import { JsonWriter } from "../../../tensor/codecs/json/json-writer.ts";
import { rowWriter, type TensorStyle, writeTensor } from "../../../tensor/codecs/json/tensor-json.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import { parsePredictBody } from "../http-request.ts";
import { isBase64Object, jsonTypeName } from "../json-tensor-rules.ts";
import { type Feature, type Features, writeFeatures } from "./features.ts";
import type { Classifications, ExampleResult, Regressions } from "./results.ts";

/** The body of a classify or regress request. */
export interface ExamplesBody {
  /** Empty = the default signature. */
  readonly signature: string;
  /** Serialised tf.Examples: [count]. */
  readonly examples: Tensor<"bytes">;
}

/**
 * Reads the JSON of a classify or regress request. `maxBytes` limits the memory of the result. Throws
 * `invalid_argument` with the original's texts.
 */
export function readExamplesJson(body: Uint8Array, maxBytes: number): ExamplesBody {
  const budget = new DecodeBudget(maxBytes);
  const { root, signature } = parsePredictBody(body, budget);
  const context = toFeatures(root.context ?? {});
  const { examples } = root;
  // The original names this method in requests of both.
  if (examples === undefined)
    throw misformed(root, "When method is classify, key 'examples' is expected and was not found");
  const length = listLength(examples);
  if (length === undefined) throw misformed(root, "Expecting 'examples' value to be an list/array");
  if (length === 0) throw misformed(root, "'examples' value is an empty array");
  if (!isJsonList(examples)) throw notAnExample(examples);
  const serialized = examples.map((example) => {
    const bytes = writeFeatures(new Map([...context, ...toFeatures(example)]));
    budget.spend(2 * ELEMENT_BYTES + bytes.length, () => "one more example");
    return bytes;
  });
  return { signature, examples: createTensor("bytes", [serialized.length], serialized) };
}

/** {@link readExamplesJson} for a codec thread. */
export const readExamplesJsonJob = defineJob(import.meta.url, "readExamplesJsonJob", readExamplesJson);

function misformed(root: JsonObject, what: string): ServingError {
  return invalidArgument(`JSON Value: ${dumpJson(root)} ${what}`);
}

function notAnExample(value: JsonValue): ServingError {
  return invalidArgument(`Example must be JSON object but got JSON ${jsonTypeName(value)}`);
}

function toFeatures(example: JsonValue): Features {
  if (!isJsonObject(example)) throw notAnExample(example);
  return new Map(Object.entries(example).map(([name, value]) => [name, toFeature(name, value)]));
}

function toFeature(name: string, value: JsonValue): Feature {
  if (value instanceof JsonNumbers) return numbersFeature(name, value);
  const elements = isJsonList(value) ? value : [value];
  return elements.map((element) => elementFeature(name, element)).reduce(joined(name), NONE);
}

const NONE: Feature = { kind: "float", values: [] };

/** Adds the values of one element to those before it, which must be of its kind. */
function joined(name: string) {
  return (before: Feature, next: Feature): Feature => {
    if (before === NONE) return next;
    if (before.kind !== next.kind) throw unexpectedKind(name, before.kind);
    // One list grows: a new one for each element would take the square of the time.
    (before.values as unknown[]).push(...next.values);
    return before;
  };
}

function elementFeature(name: string, element: JsonValue): Feature {
  if (typeof element === "string") return { kind: "bytes", values: [Buffer.from(element)] };
  if (typeof element === "boolean") return { kind: "int64", values: [element ? 1n : 0n] };
  if (element instanceof JsonNumbers && element.shape.length === 0) return numbersFeature(name, element);
  if (isBase64Object(element)) {
    const bytes = decodeBase64(element.b64 as string);
    if (bytes === undefined) throw invalidArgument("Unable to base64 decode");
    return { kind: "bytes", values: [bytes] };
  }
  throw unexpectedType(name, element);
}

const INT64_END = 2n ** 63n;

function numbersFeature(name: string, numbers: JsonNumbers): Feature {
  if (numbers.shape.length > 1) throw unexpectedType(name, []);
  const indices = Array.from({ length: numbers.size }, (_, index) => index);
  const isFloat = (index: number) => !numbers.isInteger(index);
  const kind = indices.length === 0 || isFloat(0) ? "float" : "int64";
  if (indices.some((index) => isFloat(index) !== (kind === "float"))) throw unexpectedKind(name, kind);
  if (kind === "float") return { kind, values: indices.map((index) => Number(numbers.at(index))) };
  const values = indices.map((index) => BigInt(numbers.at(index)));
  if (values.some((value) => value >= INT64_END)) {
    throw invalidArgument(`Feature: ${name} has uint64_t element. Only int64_t is supported.`);
  }
  return { kind, values };
}

function unexpectedKind(name: string, kind: Feature["kind"]): ServingError {
  return invalidArgument(`Unexpected element type in feature: ${name} expecting type: ${kind}`);
}

function unexpectedType(name: string, value: JsonValue): ServingError {
  return invalidArgument(`Feature: ${name} has element with unexpected JSON type: ${jsonTypeName(value)}`);
}

/** Text that one value takes, roughly; spares the writer some growing. */
const BYTES_PER_VALUE = 16;
const STYLE: TensorStyle = { separator: ", ", bytes: (writer, label) => writer.text(label) };
const NO_LABEL = new Uint8Array(0);

/** The answer to a classify or regress request, with the original's white space. */
export function writeResult(result: ExampleResult): Uint8Array {
  const count = result.kind === "classify" ? result.rows * result.columns : result.values.length;
  const writer = new JsonWriter(count * BYTES_PER_VALUE);
  writer.ascii('{\n    "results": ');
  if (result.kind === "classify") writeClassifications(writer, result);
  else writeRegressions(writer, result);
  writer.ascii("\n}");
  return writer.finish();
}

/** {@link writeResult} for a codec thread. */
export const writeResultJob = defineJob(import.meta.url, "writeResultJob", writeResult);

function writeRegressions(writer: JsonWriter, { values }: Regressions): void {
  writeTensor(writer, createTensor("float32", [values.length], values), STYLE);
}

function writeClassifications(writer: JsonWriter, { rows, columns, labels, scores }: Classifications): void {
  const values = scores ?? new Float32Array(rows * columns);
  const writeScore = rowWriter(writer, createTensor("float32", [values.length], values), STYLE);
  writer.ascii("[");
  for (let row = 0; row < rows; row++) {
    writer.ascii(row > 0 ? ", [" : "[");
    for (let column = 0; column < columns; column++) {
      const index = row * columns + column;
      writer.ascii(column > 0 ? ", [" : "[");
      writer.text(labels?.[index] ?? NO_LABEL);
      writer.ascii(", ");
      writeScore(index);
      writer.ascii("]");
    }
    writer.ascii("]");
  }
  writer.ascii("\n    ]");
}
