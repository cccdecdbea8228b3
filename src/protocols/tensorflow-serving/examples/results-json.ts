import { defineJob } from "../../../platform/codec-host/job.ts";
import { JsonWriter } from "../../../tensor/codecs/json/json-writer.ts";
import { rowWriter, type TensorStyle, writeTensor } from "../../../tensor/codecs/json/tensor-json.ts";
import { createTensor } from "../../../tensor/tensor.ts";
import type { Classifications, ExampleResult, Regressions } from "./results.ts";

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
