import { ServingError } from "../../errors.ts";
import { defineJob } from "../../platform/codec-host/job.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { rowWriter } from "../../tensor/codecs/json/tensor-json.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import type { TextCut } from "./counted-texts.ts";
import type { Members } from "./members.ts";

/** A request whose answer is numbers. */
export interface NumbersWish extends TextCut {
  /** The model's name; empty = the only one. */
  readonly model: string;
  /** Each of them gets its numbers, in UTF-8: a message between threads has room for few strings. */
  readonly texts: Tensor<"bytes">;
  /** The request for the function of hooks, as JSON. */
  readonly request: Uint8Array;
}

/** A request for vectors. */
export interface EmbedWish extends NumbersWish {
  readonly isBase64: boolean;
  /** Undefined = all. */
  readonly dimensions: number | undefined;
}

/** Reads the tokens of a text that count, in vLLM's form: -1 = those that the model takes. Functions get it as sent. */
export function readTruncation(body: Members): TextCut {
  const most = body.peek("truncate_prompt_tokens") ?? -1;
  if (most === -1) return {};
  if (typeof most === "number" && Number.isSafeInteger(most) && most > 0) return { maxTokens: most };
  throw body.wrong("truncate_prompt_tokens", "a whole number above 0, or -1");
}

/** Texts in UTF-8. */
export function toTensor(texts: readonly string[]): Tensor<"bytes"> {
  const encoder = new TextEncoder();
  const elements = texts.map((text) => encoder.encode(text));
  return createTensor("bytes", [elements.length], elements);
}

/** The form of an answer, and facts in it beside its vectors. */
export interface VectorsFrame {
  readonly model: string;
  readonly isBase64: boolean;
  /** True = each vector is in an object that has its index. */
  readonly isIndexed: boolean;
  /** Text before the vectors, between them and the model's name, and behind that; ASCII alone. */
  readonly texts: readonly [before: string, between: string, after: string];
}

/** Throws `internal` for numbers that JSON has no word for. */
export function assertFinite({ data }: Tensor, model: string): void {
  const wrong = (data as Float32Array).find((each) => !Number.isFinite(each));
  if (wrong !== undefined) throw new ServingError("internal", `The model ${model} gave ${wrong}, which is no result.`);
}

/** Writes an answer with a vector for each row of a tensor of float32. Throws `internal` for numbers that are none. */
export function writeVectors(vectors: Tensor, { model, isBase64, isIndexed, texts }: VectorsFrame): Uint8Array {
  assertFinite(vectors, model);
  const writer = new JsonWriter();
  const [rows = 0, columns = 0] = vectors.shape;
  const [before, between, after] = texts;
  const writeRow = isBase64 ? base64Writer(writer, vectors, columns) : rowWriter(writer, vectors, STYLE);
  writer.ascii(before);
  for (let row = 0; row < rows; row++) {
    writer.ascii(row === 0 ? "" : ",");
    if (isIndexed) writer.ascii(`{"object":"embedding","index":${row},"embedding":`);
    writeRow(row);
    if (isIndexed) writer.ascii("}");
  }
  writer.ascii(`${between}"model":`);
  writer.string(model);
  writer.ascii(after);
  return writer.finish();
}

/** {@link writeVectors} for a codec thread. */
export const writeVectorsJob = defineJob(import.meta.url, "writeVectorsJob", writeVectors);

const STYLE = { separator: ",", bytes: () => {} } as const;

/** Little-endian float32, as all machines that this server runs on have them. */
function base64Writer(writer: JsonWriter, { data }: Tensor, columns: number): (row: number) => void {
  const { buffer, byteOffset } = data as Float32Array<ArrayBuffer>;
  return (row) => {
    const bytes = Buffer.from(buffer, byteOffset + 4 * row * columns, 4 * columns);
    writer.ascii(`"${bytes.toString("base64")}"`);
  };
}
