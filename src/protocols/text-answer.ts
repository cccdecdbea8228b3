import type { Job } from "../platform/codec-host/job.ts";
import { isLargeText } from "../platform/codec-host/large-message.ts";
import type { HttpExchange } from "../proxy/http-exchange.ts";
import type { HttpAnswer } from "../proxy/http-route.ts";
import {
  isLeftOut,
  JsonOutline,
  type JsonWriter,
  type LeftOut,
  splitItems,
} from "../tensor/codecs/json/json-writer.ts";
import { byteSize, elementCount, type Tensor } from "../tensor/tensor.ts";
import { writeItemsJob } from "./write-items-job.ts";

/**
 * Elements from which an answer is written in parts, and those of a part: some 3 MB of
 * floats' text, and some 5 ms of work.
 */
const SPLIT_ELEMENTS = 256 * 1024;
const PART_ELEMENTS = 128 * 1024;

/** An answer that is JSON text. */
export interface TextToWrite<Args extends readonly unknown[]> {
  /** The tensors of which it holds values as text. */
  readonly tensors: readonly Tensor[];
  /** True if it is work for a codec thread; default: that of its tensors. */
  readonly isLarge?: boolean;
  /** Writes it as a whole. */
  readonly job: Job<Args, Uint8Array>;
  readonly args: Readonly<Args>;
  /** Writes the same text; false if it cannot be written in parts. */
  readonly write: ((writer: JsonWriter) => void) | false;
}

/**
 * The body of an answer that is JSON text: written here if it is small, else in a codec thread, or if it is very
 * large by several of them, in parts that are sent while the next ones are written.
 */
export async function textAnswer<Args extends readonly unknown[]>(
  { tensors, isLarge = isLargeText(tensors), job, args, write }: TextToWrite<Args>,
  exchange: HttpExchange,
): Promise<Pick<HttpAnswer, "body" | "stream">> {
  if (!isLarge) return { body: await job.run(...(args as Args)) };
  if (write === false || !isSplit(tensors)) return { body: await exchange.encode(job, args as Args) };
  const outline = new JsonOutline();
  write(outline);
  const [head, ...parts] = outline.parts();
  const heldBytes = tensors.reduce((sum, tensor) => sum + byteSize(tensor), 0);
  const stream = { heldBytes, parts: exchange.encodeParts(writeItemsJob, cut(parts)) };
  return { body: head as Uint8Array, stream };
}

/** Checks that the values are many, and that nearly all of them are in long lists of numbers. */
function isSplit(tensors: readonly Tensor[]): boolean {
  const long = tensors.filter(({ dtype, shape }) => isLeftOut(dtype, elementCount(shape)));
  const elements = long.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  return elements > SPLIT_ELEMENTS && !isLargeText(tensors.filter((tensor) => !long.includes(tensor)));
}

function* cut(parts: readonly (Uint8Array | LeftOut)[]): Generator<Uint8Array | [LeftOut]> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else for (const piece of splitItems(part, PART_ELEMENTS)) yield piece instanceof Uint8Array ? piece : [piece];
  }
}

/** An answer in JSON, on one line. */
export function jsonAnswer(value: unknown): HttpAnswer {
  return { contentType: "application/json", body: Buffer.from(JSON.stringify(value)) };
}
