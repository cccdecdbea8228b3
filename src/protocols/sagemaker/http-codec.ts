import { invalidArgument } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { type CsvColumn, eachJsonRow } from "../../tensor/codecs/csv-to-json-rows.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { writeItems } from "../../tensor/codecs/json/tensor-json.ts";
import { writeNpy } from "../../tensor/codecs/npy.ts";
import type { NumericDType } from "../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";
import { type FrameJson, frameOf, mayBeFrame } from "../data-frames.ts";
import { hasSeveralValues, joinJsonLines, notUtf8 } from "./json-lines.ts";

/** Media types of bodies that become a request of TensorFlow Serving's REST API. */
const FORMS = {
  "application/json": "json",
  "application/jsonlines": "lines",
  "application/jsons": "lines",
  "text/csv": "csv",
} as const;
export type BodyForm = (typeof FORMS)[keyof typeof FORMS];

/** The form of a body of this media type; undefined if it is not text of that API. */
export function bodyForm(mediaType: string): BodyForm | undefined {
  return Object.hasOwn(FORMS, mediaType) ? FORMS[mediaType as keyof typeof FORMS] : undefined;
}

/** A request of TensorFlow Serving's REST API. */
interface PredictBody {
  readonly json: Uint8Array;
  /** Offsets in it at which the lines of the body begin, if it was joined of lines. */
  readonly places?: Uint32Array<ArrayBuffer>;
  /** True for a data frame of MLflow's, whose clients expect the predictions alone. */
  readonly isFrame?: true;
  /** Bytes that were put before the body, as a negative number; absent = none, or it was joined. */
  readonly before?: number;
}

/**
 * Turns the body of an invocation into the JSON of TensorFlow Serving's REST API, which is parsed later: what is such
 * JSON stays, other JSON is one instance, a list of lists is its instances, lines of JSON and of CSV are one instance
 * each, and a data frame of MLflow has rows or columns. Throws `invalid_argument` with the line of CSV that is
 * malformed, or of JSON that is not whole, and for rows that take more than `maxBytes`. `columns` are those of a model
 * of tables, for CSV.
 */
export function toPredictBody(
  body: Uint8Array,
  form: BodyForm,
  maxBytes: number,
  columns?: readonly CsvColumn[],
): PredictBody {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (form === "csv") {
    const items = eachJsonRow(toText(bytes), "null", columns);
    return { json: joinItems({ before: '{"instances":[', items, after: "]}" }, maxBytes) };
  }
  const frame = form === "json" && mayBeFrame(bytes) ? frameOf(toText(bytes)) : undefined;
  if (frame !== undefined) return { json: joinItems(frame, maxBytes), isFrame: true };
  if (isPredictBody(bytes)) return { json: body };
  if (form === "lines") return joinJsonLines(bytes);
  if (hasSeveralValues(bytes)) return joinJsonLines(bytes);
  const [before, after] = LIST_OF_LISTS.test(bytes.toString("latin1"))
    ? ['{"instances":', "}"]
    : ['{"instances":[', "]}"];
  return { json: Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]), before: -before.length };
}

/** {@link toPredictBody} for a codec thread. */
export const toPredictBodyJob = defineJob(import.meta.url, "toPredictBodyJob", toPredictBody);

const LIST_OF_LISTS = /^\s*\[\s*\[/;
const MEMBERS = ["instances", "inputs", "examples"].map((name) => Buffer.from(`"${name}"`));
const SPACES: ReadonlySet<number> = new Set([9, 10, 13, 32]);
const COLON = 58;

/** Checks if one of the API's own members stands anywhere in the text. */
function isPredictBody(bytes: Buffer): boolean {
  return MEMBERS.some((member) => {
    for (let at = bytes.indexOf(member); at >= 0; at = bytes.indexOf(member, at + 1)) {
      let end = at + member.length;
      while (SPACES.has(bytes[end]!)) end++;
      if (bytes[end] === COLON) return true;
    }
    return false;
  });
}

/** Items, and characters of them, that are joined at a time. */
const JOINED_ITEMS = 1024;
const JOINED_LENGTH = 1024 * 1024;
/** Memory that an item takes at least once its JSON is read, in bytes. */
const ITEM_BYTES = 8;

/** In pieces: one text of all items, or a list of them, would take many times the memory of the body. */
function joinItems({ before, items, after }: FrameJson, maxBytes: number): Buffer {
  const pieces: Buffer[] = [];
  let [some, length, left]: [string[], number, number] = [[], 0, maxBytes];
  const join = () => {
    const piece = Buffer.from(`${pieces.length === 0 ? before : ","}${some.join(",")}`);
    left -= Math.max(piece.length, ITEM_BYTES * some.length);
    if (left < 0) throw invalidArgument(tooLong(maxBytes));
    pieces.push(piece);
    [some, length] = [[], 0];
  };
  for (const item of items) {
    length += item.length;
    if (some.push(item) === JOINED_ITEMS || length > JOINED_LENGTH) join();
  }
  if (some.length > 0) join();
  if (pieces.length === 0) throw invalidArgument("The body has no rows; send one line for each row.");
  return Buffer.concat([...pieces, Buffer.from(after)]);
}

function tooLong(maxBytes: number): string {
  return `The rows take more than ${maxBytes} bytes in memory; send fewer, or raise --max-message-bytes.`;
}

/** Throws `invalid_argument` for other encodings than UTF-8. */
function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw notUtf8(cause);
  }
}

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

/** Quoted if it has to be (RFC 4180). */
function toField(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Removes the line breaks of JSON, if they stand between values only. */
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
