import { isUtf8 } from "node:buffer";
import { failedPrecondition } from "../../errors.ts";
import { toColumns } from "../../platform/text/terminal.ts";
import { topK } from "../../tensor/along-axis.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import { comparableElements, type Element, elementNumbers, toNested } from "../../tensor/elements.ts";
import { encodeImage } from "../../tensor/media/encode-image.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { createTensor, createTensors, elementCount, type Tensor, type Tensors } from "../../tensor/tensor.ts";

/** Elements of an output that are shown whole. */
const MAX_SHOWN = 32;
/** Rows whose largest elements are shown. */
const MAX_ROWS = 10;
/** Characters of a text element that are shown. */
const MAX_TEXT = 200;

/** Parts of outputs that are shown. */
export interface OutputView {
  /** Number of the largest elements of each row; absent = all elements, or a summary of many. */
  readonly top?: number;
  /** Names of classes by the name of an output. */
  readonly labelsOf: (name: string) => readonly string[] | undefined;
}

/** Outputs for people. */
export function outputLines(outputs: Tensors, view: OutputView): string[] {
  return Object.entries(outputs).flatMap(([name, tensor]) => [
    `${name} ${tensor.dtype}[${tensor.shape}]`,
    ...toLines(name, tensor, view).map((line) => `  ${line}`),
  ]);
}

function toLines(name: string, tensor: Tensor, { top, labelsOf }: OutputView): string[] {
  const count = elementCount(tensor.shape);
  const isRanked = top !== undefined && isReal(tensor) && tensor.shape.length > 0 && count > 0;
  if (isRanked) return topLines(tensor, top, labelsOf(name) ?? []);
  if (count <= MAX_SHOWN) return [nestedText(tensor)];
  return isReal(tensor) ? [summary(tensor)] : [`${count} elements; --format json shows them`];
}

function isReal({ dtype }: Tensor): boolean {
  return !["bytes", "complex64", "complex128"].includes(dtype);
}

function topLines(tensor: Tensor, top: number, labels: readonly string[]): string[] {
  const { values, indices } = topK(tensor, top);
  const kept = indices.shape.at(-1) ?? 1;
  const numbers = elementNumbers(values, "infer");
  const rowCount = indices.data.length / kept;
  const rows = Array.from({ length: Math.min(rowCount, MAX_ROWS) }, (_, row) =>
    Array.from(indices.data.subarray(row * kept, (row + 1) * kept), (index, rank) => {
      const at = row * kept + rank;
      return [
        rowCount > 1 && rank === 0 ? `${row}:` : "",
        String(index),
        labels[index] ?? "",
        numberText(numbers[at] ?? 0),
      ];
    }),
  );
  const rest = rowCount > MAX_ROWS ? [`and ${rowCount - MAX_ROWS} more rows`] : [];
  return [...toColumns(rows.flat()).map((line) => line.trimStart()), ...rest];
}

function nestedText(tensor: Tensor): string {
  return listText(toNested(tensor, leafText));
}

function listText(nested: unknown): string {
  return Array.isArray(nested) ? `[${nested.map(listText).join(", ")}]` : String(nested);
}

function leafText(element: Element): string {
  if (typeof element === "number") return numberText(element);
  if (!(element instanceof Uint8Array)) return listText(element);
  const text = Buffer.from(element).toString();
  return JSON.stringify(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${element.length} bytes)` : text);
}

function summary(tensor: Tensor): string {
  const elements = comparableElements(tensor, "infer");
  let [least, most, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (let at = 0; at < elements.length; at++) {
    const value = Number(elements[at]);
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
  }
  const [low, mean, high] = [least, sum / elements.length, most].map(numberText);
  return `${elements.length} values from ${low} to ${high}, mean ${mean}`;
}

/** Six digits: more says nothing about a float32. */
function numberText(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** As Python's json reads and writes them: NaN, Infinity; bytes are text if they are UTF-8, else base64. */
const STYLE: TensorStyle = {
  separator: ",",
  bytes: (writer, element) => {
    if (isUtf8(element)) writer.text(element);
    else writer.base64(element);
  },
};

/** Outputs as one line of JSON: `{"y":{"dtype":"float32","shape":[2],"data":[2.5,3]}}`. */
export function outputJson(outputs: Tensors): string {
  const writer = new JsonWriter();
  writer.ascii("{");
  for (const [index, [name, tensor]] of Object.entries(outputs).entries()) {
    if (index > 0) writer.ascii(",");
    writer.string(name);
    writer.ascii(`:{"dtype":"${tensor.dtype}","shape":[${tensor.shape}],"data":`);
    writeTensor(writer, tensor, STYLE);
    writer.ascii("}");
  }
  writer.ascii("}");
  return writer.finish().toString();
}

/** Outputs as they are after {@link outputJson} has been read again: bytes that are not text are their base64. */
export function asReadAgain(outputs: Tensors): Tensors {
  return createTensors(Object.entries(outputs).map(([name, tensor]) => [name, withTexts(tensor)]));
}

function withTexts(tensor: Tensor): Tensor {
  if (tensor.dtype !== "bytes") return tensor;
  const texts = (tensor as Tensor<"bytes">).data.map((element) =>
    isUtf8(element) ? element : Buffer.from(Buffer.from(element).toString("base64")),
  );
  return createTensor("bytes", tensor.shape, texts);
}

/**
 * An output as a PNG file: pixels of [H,W], [H,W,C] or [C,H,W] with a row of 1 before
 * them or not, floats of 0 to 1 (else stretched from the least to the greatest), or an
 * image that is a file already. Throws `failed_precondition` for anything else.
 */
export async function outputImage(name: string, tensor: Tensor): Promise<Uint8Array> {
  const [file] = tensor.dtype === "bytes" ? tensor.data : [];
  if (file !== undefined && imageFormat(file) !== undefined) return file;
  const shape = tensor.shape.filter((size, axis) => size !== 1 || axis >= tensor.shape.length - 3);
  const place = placeOf(shape.length === 2 ? [...shape, 1] : shape);
  if (tensor.dtype === "bytes" || place === undefined)
    throw failedPrecondition(
      `The output "${name}" is ${tensor.dtype}[${tensor.shape}], which is not an image; expected [H,W], [H,W,C], [C,H,W] or an image file.`,
    );
  return encodeImage(toPixels(tensor, place), { format: "png" });
}

interface PixelPlace {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly isPlanar: boolean;
}

function placeOf(shape: readonly number[]): PixelPlace | undefined {
  const [first = 0, second = 0, third = 0] = shape;
  if (shape.length !== 3) return undefined;
  const isChannels = (size: number) => [1, 3, 4].includes(size);
  if (isChannels(third)) return { height: first, width: second, channels: third, isPlanar: false };
  return isChannels(first) ? { height: second, width: third, channels: first, isPlanar: true } : undefined;
}

function toPixels(tensor: Tensor, { height, width, channels, isPlanar }: PixelPlace): Tensor<"uint8"> {
  const numbers = elementNumbers(tensor, "infer");
  const scale = tensor.dtype === "uint8" ? (value: number) => value : stretch(numbers);
  const pixels = new Uint8Array(numbers.length);
  const size = height * width;
  for (let at = 0; at < pixels.length; at++) {
    const source = isPlanar ? (at % channels) * size + Math.floor(at / channels) : at;
    pixels[at] = scale(numbers[source] ?? 0);
  }
  return createTensor("uint8", [height, width, channels], pixels);
}

/** To 0 to 255. */
function stretch(numbers: ArrayLike<number>): (value: number) => number {
  let [least, most] = [0, 1];
  for (let at = 0; at < numbers.length; at++) {
    least = Math.min(least, numbers[at] ?? 0);
    most = Math.max(most, numbers[at] ?? 0);
  }
  return (value) => Math.round(((value - least) / (most - least)) * 255);
}
