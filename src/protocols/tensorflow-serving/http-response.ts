import { isUtf8 } from "node:buffer";
import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import type { HttpAnswer } from "../../proxy/http-route.ts";
import type { InferResponse } from "../../serving/inference-service.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { rowWriter, type TensorStyle, writeItems, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import type { DType } from "../../tensor/dtype.ts";
import type { Tensor, Tensors } from "../../tensor/tensor.ts";
import type { PredictFormat } from "./http-request.ts";

/** A string output of such a name holds bytes, not text. */
const BYTES_SUFFIX = "_bytes";
/** Text that one element takes, roughly: that of floats with all their digits, since growing copies what is written. */
const BYTES_PER_ELEMENT: Readonly<Partial<Record<DType, number>>> = { float32: 14, float64: 22 };
const BYTES_PER_OTHER = 8;
const FEW_LISTS = 64;

/** Text before the values of each depth: line breaks as TensorFlow Serving has them, or nothing. */
type Breaks = readonly [end: string, outer: string, inner: string, innermost: string];

const LINES: Breaks = ["\n", "\n    ", "\n        ", "\n            "];
const ONE_LINE: Breaks = ["", "", "", ""];

/**
 * The answer to a predict request, as TensorFlow Serving writes it: `predictions` for a row request, `outputs` for a
 * column request; one output alone goes without its name. `isOneLine` leaves out the line breaks between values. Throws
 * `invalid_argument` for outputs that have no rows, and for complex numbers.
 */
export function writePredictions(outputs: Tensors, format: PredictFormat, isOneLine = false): Uint8Array {
  let expectedBytes = 0;
  for (const { dtype, data } of Object.values(outputs))
    expectedBytes += data.length * (BYTES_PER_ELEMENT[dtype] ?? BYTES_PER_OTHER);
  const writer = new JsonWriter(expectedBytes);
  writePredictionsTo(writer, outputs, { format, isOneLine });
  return writer.finish();
}

/** {@link writePredictions} for a codec thread. */
export const writePredictionsJob = defineJob(import.meta.url, "writePredictionsJob", writePredictions);

/** Form of the text of {@link writePredictions}. */
interface PredictionsForm {
  readonly format: PredictFormat;
  readonly isOneLine: boolean;
}

/** {@link writePredictions} with a writer. */
export function writePredictionsTo(writer: JsonWriter, outputs: Tensors, { format, isOneLine }: PredictionsForm): void {
  const breaks = isOneLine ? ONE_LINE : LINES;
  const entries = Object.entries(outputs);
  for (const [, { dtype }] of entries)
    if (dtype.startsWith("complex")) throw invalidArgument(`Failed to write JSON value for tensor type: ${dtype}`);
  if (format === "row") writeRows(writer, entries, breaks);
  else writeColumns(writer, entries, breaks);
}

/** Checks that an answer is made of few lists: rows of several outputs are lists each. */
export function hasFewLists(outputs: Tensors, format: PredictFormat): boolean {
  const tensors = Object.values(outputs);
  const rows = tensors[0]?.shape[0] ?? 0;
  return format === "column" || tensors.length === 1 || rows * tensors.length <= FEW_LISTS;
}

type Entries = readonly (readonly [name: string, tensor: Tensor])[];

function writeRows(writer: JsonWriter, entries: Entries, breaks: Breaks): void {
  const count = rowCount(entries);
  const [end, outer] = breaks;
  writer.ascii(`{${outer}"predictions": [`);
  const [only] = entries;
  if (only !== undefined && entries.length === 1) writeItems(writer, only[1], styleOf(only[0]));
  else writeObjects(writer, entries, { count, breaks });
  writer.ascii(count > 0 ? `${outer}]${end}}` : `]${end}}`);
}

interface Rows {
  readonly count: number;
  readonly breaks: Breaks;
}

function writeObjects(writer: JsonWriter, entries: Entries, { count, breaks }: Rows): void {
  const columns = entries.map(([name, tensor]) => ({ name, write: rowWriter(writer, tensor, styleOf(name)) }));
  const [, , inner, innermost] = breaks;
  const [first, next, last] = [`${inner}{`, `,${inner}{`, `${inner}}`];
  const nextColumn = `,${innermost}`;
  for (let row = 0; row < count; row++) {
    writer.ascii(row > 0 ? next : first);
    for (const [index, { name, write }] of columns.entries()) {
      writer.ascii(index > 0 ? nextColumn : innermost);
      writer.string(name);
      writer.ascii(": ");
      write(row);
    }
    writer.ascii(last);
  }
}

/** The first dimension that all outputs share; 0 without outputs. */
function rowCount(entries: Entries): number {
  let count: number | undefined;
  for (const [name, { shape }] of entries) {
    const [rows] = shape;
    if (rows === undefined) throw invalidArgument(`Tensor name: ${name} has no shape information `);
    if (count !== undefined && rows !== count) {
      throw invalidArgument(`Tensor name: ${name} has inconsistent batch size: ${rows} expecting: ${count}`);
    }
    count = rows;
  }
  return count ?? 0;
}

function writeColumns(writer: JsonWriter, entries: Entries, breaks: Breaks): void {
  const [end, outer] = breaks;
  writer.ascii(`{${outer}"outputs": `);
  const [only] = entries;
  if (only !== undefined && entries.length === 1) writeTensor(writer, only[1], styleOf(only[0]));
  else writeNamed(writer, entries, breaks);
  writer.ascii(`${end}}`);
}

function writeNamed(writer: JsonWriter, entries: Entries, [, outer, inner]: Breaks): void {
  writer.ascii("{");
  for (const [index, [name, tensor]] of entries.entries()) {
    writer.ascii(index > 0 ? `,${inner}` : inner);
    writer.string(name);
    writer.ascii(": ");
    writeTensor(writer, tensor, styleOf(name));
  }
  writer.ascii(entries.length > 0 ? `${outer}}` : "}");
}

/** Bytes that are not text are encoded under any name, where the original writes broken JSON. */
function styleOf(name: string): TensorStyle {
  const alwaysBytes = name.endsWith(BYTES_SUFFIX);
  return {
    separator: ", ",
    bytes: (writer, element) => {
      if (alwaysBytes || !isUtf8(element)) writeEncoded(writer, element);
      else writer.text(element);
    },
  };
}

function writeEncoded(writer: JsonWriter, bytes: Uint8Array): void {
  writer.ascii('{"b64": ');
  writer.base64(bytes);
  writer.ascii("}");
}

/** Characters that a header may contain. */
const PLAIN = /^[\x21-\x7e]*$/;

/**
 * The headers of an answer: those that hooks set, and the answering model and version (an addition to the original).
 */
export function versionHeaders({
  model,
  version,
  metadata,
}: InferResponse): Pick<HttpAnswer, "headers" | "ownHeaders"> {
  const [name, number] = [PLAIN.test(model) ? model : encodeURIComponent(model), String(version)];
  for (const _ in metadata) return { headers: { "x-model-name": name, "x-model-version": number, ...metadata } };
  return {
    ownHeaders: [
      ["x-model-name", name],
      ["x-model-version", number],
    ],
  };
}
