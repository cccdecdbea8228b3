import { defineJob } from "../../codec-host/job.ts";
import { JsonWriter } from "../../codecs/json/json-writer.ts";
import { writeItems } from "../../codecs/json/tensor-json.ts";
import { writeNpy } from "../../codecs/npy.ts";
import type { NumericDType } from "../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";

const [COMMA, LINE_BREAK] = [44, 10];

/** Forms of an answer that is one array. */
export type ArrayForm = "csv" | "npy";

/** Writes an array as a file of NumPy, or as CSV: a line for each row, with the values of all its dimensions. */
export function writeArray(tensor: Tensor, form: ArrayForm): Uint8Array {
  if (form === "npy") return writeNpy(tensor);
  const elements = elementCount(tensor.shape);
  const columns = elements / (tensor.shape[0] ?? 1);
  if (elements === 0) return Buffer.alloc(0);
  return tensor.dtype === "bytes" ? textRows(tensor.data, columns) : numberRows(tensor, columns);
}

/** {@link writeArray} for a codec thread. */
export const writeArrayJob = defineJob(import.meta.url, "writeArrayJob", writeArray);

/** Numbers as JSON has them; NaN and Infinity are words. */
function numberRows({ dtype, shape, data }: Tensor, columns: number): Uint8Array {
  const writer = new JsonWriter();
  const flat = createTensor(dtype as NumericDType, [elementCount(shape)], data as never);
  writeItems(writer, flat, { separator: ",", bytes: () => {} });
  writer.ascii(",");
  const text = writer.finish();
  let column = 0;
  for (let at = text.indexOf(COMMA); at >= 0; at = text.indexOf(COMMA, at + 1)) {
    if (++column < columns) continue;
    text[at] = LINE_BREAK;
    column = 0;
  }
  return text;
}

function textRows(elements: readonly Uint8Array[], columns: number): Uint8Array {
  const lines: string[] = [];
  for (let start = 0; start < elements.length; start += columns)
    lines.push(
      elements
        .slice(start, start + columns)
        .map(toField)
        .join(","),
    );
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** Quoted where it has to be (RFC 4180). */
function toField(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Removes the line breaks of JSON, where they stand between values only. */
export function withoutLineBreaks(json: Uint8Array): Uint8Array {
  let length = 0;
  const result = new Uint8Array(json.length);
  for (const byte of json) if (byte !== LINE_BREAK) result[length++] = byte;
  return result.subarray(0, length);
}

/** {@link withoutLineBreaks} for a codec thread. */
export const withoutLineBreaksJob = defineJob(import.meta.url, "withoutLineBreaksJob", withoutLineBreaks);

/** Parts of JSON likewise; those of numbers alone have none. */
export async function* eachWithoutLineBreaks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield part.includes(LINE_BREAK) ? withoutLineBreaks(part) : part;
}
