import { readFileSync } from "node:fs";
import { failedPrecondition, reasonText } from "../../../errors.ts";
import { readProblem } from "../../../platform/text/file-problem.ts";
import { maskedCrc32c } from "../../../tensor/codecs/crc32c.ts";
import type { NumericDType } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../../tensor/tensor.ts";
import { dataTypeName, toDType } from "../saved-model/data-type.ts";
import { fromTensorShape, splitStrings } from "../saved-model/tensor-proto.ts";
import { type BundleEntry, parseMessage } from "../saved-model/tensorflow-messages.ts";
import { readTable } from "./checkpoint-table.ts";

/** The tensors of a checkpoint, read from disk on demand. */
export class Checkpoint {
  readonly #prefix: string;
  readonly #entries: ReadonlyMap<string, Uint8Array>;
  readonly #shardCount: number;
  readonly #shards = new Map<number, Uint8Array>();

  /** Of the files that begin with a prefix; throws `failed_precondition` for an index that cannot be read. */
  constructor(prefix: string) {
    this.#prefix = prefix;
    this.#entries = readIndex(`${prefix}.index`);
    const header = parseMessage("BundleHeaderProto", this.#entries.get("") ?? new Uint8Array(0));
    if (header.endianness !== 0) throw failedPrecondition("The checkpoint was written on a big-endian machine.");
    this.#shardCount = header.numShards;
  }

  /**
   * The tensor saved under a key, or as a part of one; throws `failed_precondition` when
   * there is none, or its bytes are damaged.
   */
  read(saved: string | VariableSlice): Tensor {
    const isWhole = typeof saved === "string";
    const key = isWhole ? saved : saved.name;
    const bytes = this.#entries.get(isWhole ? Buffer.from(key).toString("latin1") : sliceKey(saved));
    if (bytes === undefined) {
      const lack = isWhole ? `variable "${key}"` : `such part of the variable "${key}"`;
      throw failedPrecondition(`The model's checkpoint has no ${lack}; the model is incomplete.`);
    }
    const entry = parseMessage("BundleEntryProto", bytes);
    const dtype = toDType(entry.dtype);
    if (dtype === undefined) throw failedPrecondition(`The variable "${key}" is of type ${dataTypeName(entry.dtype)}.`);
    if (entry.slices.length > 0)
      throw failedPrecondition(
        `The variable "${key}" was saved in parts; this engine reads it in the same parts only.`,
      );
    const content = this.#content(key, entry);
    const shape = fromTensorShape(entry.shape) ?? [];
    if (dtype === "bytes") return createTensor(dtype, shape, readStrings(key, content, elementCount(shape)));
    if (maskedCrc32c(content) !== entry.crc32c)
      throw failedPrecondition(`The variable "${key}" is damaged: its checksum differs.`);
    return createTensor(dtype, shape, viewBytes(dtype as NumericDType, content) as never);
  }

  /** Lets go of the files; they are read again if something more is asked for. */
  forget(): void {
    this.#shards.clear();
  }

  #content(key: string, { shardId, offset, size }: BundleEntry): Uint8Array {
    const shard = this.#shard(shardId);
    const [start, length] = [Number(offset), Number(size)];
    if (start + length <= shard.length) return shard.subarray(start, start + length);
    throw failedPrecondition(
      `The variable "${key}" ends beyond its file (${shard.length} bytes of at least ${start + length}): the file is cut short.`,
    );
  }

  #shard(id: number): Uint8Array {
    const known = this.#shards.get(id);
    if (known !== undefined) return known;
    const [number, count] = [id, this.#shardCount].map((value) => String(value).padStart(5, "0"));
    const bytes = readFile(`${this.#prefix}.data-${number}-of-${count}`);
    this.#shards.set(id, bytes);
    return bytes;
  }
}

/** The entries of a checkpoint's index by key; throws `failed_precondition` for a file that is none. */
export function readIndex(path: string): Map<string, Uint8Array> {
  const bytes = readFile(path);
  try {
    return readTable(bytes);
  } catch (cause) {
    throw failedPrecondition(`"${path}" is not a checkpoint's index: ${reasonText(cause)}.`, cause);
  }
}

function readFile(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw failedPrecondition(`The model's variables are missing: "${path}" ${readProblem(cause)}.`, cause);
  }
}

/** The lengths of all, four bytes of checksum, the bytes of all. */
function readStrings(key: string, content: Uint8Array, count: number): Uint8Array[] {
  try {
    return splitStrings(content, count, 4);
  } catch (cause) {
    throw failedPrecondition(`The variable "${key}" is damaged: it has fewer texts than its shape says.`, cause);
  }
}

/** Part of a variable: `shape` and, for each dimension, its begin and its length. */
export interface VariableSlice {
  readonly name: string;
  readonly parts: readonly { readonly start: number; readonly length: number }[];
}

/** Bits of a number that its first byte has room for, and that each further byte adds. */
const [FIRST_BITS, MORE_BITS] = [6, 7];

/**
 * The key of a slice in a checkpoint's index, as latin-1 text: a 0, the name, the number of dimensions and their
 * bounds, each written so that bytes sort as values do
 * (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/strings/ordered_code.h).
 */
export function sliceKey({ name, parts }: VariableSlice): string {
  const bounds = parts.flatMap(({ start, length }) => [start, length]);
  return `\0${orderedText(name)}${orderedCount(parts.length)}${bounds.map(orderedNumber).join("")}`;
}

/**
 * Reads RestoreV2's description of a slice: the whole's sizes, then `start,length` for each dimension, or `-` for the
 * whole dimension.
 */
export function parseSlice(name: string, text: string): VariableSlice | undefined {
  const words = text.split(" ");
  const sizes = words.slice(0, -1).map(Number);
  const ranges = words.at(-1)?.split(":") ?? [];
  if (sizes.length !== ranges.length) return undefined;
  // A dimension that is there whole begins at 0 and has no length.
  const parts = ranges.map((range) => (range === "-" ? [0, -1] : range.split(",").map(Number)));
  const isSlice = parts.every(([start, length]) => Number.isInteger(start) && Number.isInteger(length));
  return isSlice ? { name, parts: parts.map(([start = 0, length = 0]) => ({ start, length })) } : undefined;
}

function orderedText(text: string): string {
  const bytes = Buffer.from(text).toString("latin1");
  return `${bytes.replace(/[\0\xff]/g, (byte) => (byte === "\0" ? "\0\xff" : "\xff\0"))}\0\x01`;
}

function orderedCount(count: number): string {
  return count === 0 ? "\0" : `\x01${String.fromCharCode(count)}`;
}

/** As many bytes as the number needs, of which the first bits say how many. */
function orderedNumber(value: number): string {
  const size = value < 0 ? -1 - value : value;
  let [bytes, bits] = [1, FIRST_BITS];
  for (; size >= 2 ** bits; bits += MORE_BITS) bytes++;
  const written = Buffer.alloc(8, value < 0 ? 0xff : 0);
  written.writeBigInt64BE(BigInt(value));
  const own = written.subarray(8 - bytes);
  own[0] = own[0]! ^ ((0xff00 >> bytes) & 0xff);
  return own.toString("latin1");
}
