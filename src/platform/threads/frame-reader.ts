import { DTYPES, type DType, type NumericDType, numericLayout } from "../../tensor/dtype.ts";
import type { PackedBytes } from "../../tensor/packed-bytes.ts";
import { createPackedTensor } from "../../tensor/packed-tensor.ts";
import { createTensors, elementCount, MAX_NAME, type Tensor } from "../../tensor/tensor.ts";
import { align, FRAME_HEADER_BYTES, type WireRecord } from "./frame.ts";
import { MalformedMessage } from "./host-port.ts";
import { OwnWeakSet, parseJson } from "./own-built-ins.ts";

/**
 * Reads the records of a frame, in the order they were written; tensors view the
 * frame's buffers. The sender is not trusted: throws {@link MalformedMessage} for
 * anything that a FrameWriter would not have written, and for a record with more plain data than `maxMetaBytes`,
 * before memory is spent on it.
 */
export function* readFrame(message: unknown, maxMetaBytes?: number): Generator<WireRecord> {
  for (const record of readFrameInTurns(message, maxMetaBytes)) if (record !== undefined) yield record;
}

/**
 * The same, with undefined after each step that takes milliseconds, so that the reader may go on in a later turn of the
 * event loop: a tensor may have hundreds of millions of elements.
 */
export function* readFrameInTurns(
  message: unknown,
  maxMetaBytes = Number.POSITIVE_INFINITY,
): Generator<WireRecord | undefined> {
  const [memory, buffers] = splitMessage(message);
  const reader = new FrameReader(memory, buffers, maxMetaBytes);
  for (let rest = reader.recordCount; rest > 0; rest--) {
    const record = reader.record();
    if (reader.unchecked.length > 0) yield* checkInTurns(reader.unchecked);
    yield record;
  }
  if (!reader.isAtEnd) throw new MalformedMessage("it has buffers that no tensor uses");
}

/** A SharedArrayBuffer could change after it was checked; only an ArrayBuffer belongs to the receiver alone. */
function splitMessage(message: unknown): readonly [ArrayBuffer, readonly ArrayBuffer[]] {
  const parts: readonly unknown[] = Array.isArray(message) ? message : [message];
  // By index: the length of a sparse array exceeds the number of its elements.
  for (let index = 0; index < parts.length; index++) {
    if (!(parts[index] instanceof ArrayBuffer)) throw new MalformedMessage("it is not made of ArrayBuffers");
  }
  const [memory, ...buffers] = parts as readonly ArrayBuffer[];
  if (memory === undefined || memory.byteLength < FRAME_HEADER_BYTES || memory.byteLength % 4 !== 0) {
    throw new MalformedMessage("it has no frame header");
  }
  return [memory, buffers];
}

/** Bytes of an element's start and end. */
const RANGE_BYTES = 2 * Uint32Array.BYTES_PER_ELEMENT;
const MAX_NAME_BYTES = 3 * MAX_NAME;
/** Elements of a `bytes` tensor whose ranges are checked in one step, which takes two milliseconds. */
const CHECKED_AT_ONCE = 1024 * 1024;
/** Minimum number of bytes of each record and of each tensor. */
const MIN_ENTRY_BYTES = 16;

/** Memory of frames with several records, whose tensors belong to several requests. */
const sharedMemory = new OwnWeakSet<ArrayBufferLike>();

/** Checks that a buffer is a frame that several records came in: to transfer it would empty the tensors of them all. */
export function isSharedFrame(buffer: ArrayBufferLike): boolean {
  return sharedMemory.has(buffer);
}

/** Elements whose ranges are not checked yet, and not summed up. */
type UncheckedBytes = { -readonly [Member in keyof PackedBytes]: PackedBytes[Member] };

class FrameReader {
  readonly recordCount: number;
  /** Those of the last record with very many; to be checked before it is used. */
  readonly unchecked: UncheckedBytes[] = [];
  readonly #memory: Buffer<ArrayBuffer>;
  readonly #integers: Int32Array;
  readonly #buffers: readonly ArrayBuffer[];
  readonly #maxMetaBytes: number;
  #position = FRAME_HEADER_BYTES;
  #usedBuffers = 0;

  constructor(memory: ArrayBuffer, buffers: readonly ArrayBuffer[], maxMetaBytes: number) {
    this.#maxMetaBytes = maxMetaBytes;
    this.#memory = Buffer.from(memory);
    this.#integers = new Int32Array(memory);
    this.#buffers = buffers;
    this.recordCount = this.#count(this.#integers[0]!, MIN_ENTRY_BYTES, "records");
    if (this.recordCount > 1) sharedMemory.add(memory);
  }

  /** True once every buffer belongs to a tensor. */
  get isAtEnd(): boolean {
    return this.#usedBuffers === this.#buffers.length;
  }

  record(): WireRecord {
    const kind = this.#integer();
    const id = this.#integer();
    const metaBytes = this.#integer();
    if (metaBytes > this.#maxMetaBytes) throw new MalformedMessage(`it has ${metaBytes} bytes of plain data`);
    const tensorCount = this.#count(this.#integer(), MIN_ENTRY_BYTES, "tensors");
    const meta = metaBytes === 0 ? undefined : parseMeta(this.#text(metaBytes));
    // Undefined fields too: an absent one is looked up in Object.prototype, which user code may have extended.
    if (tensorCount === 0) return { kind, id, meta, tensors: undefined };
    const tensors = createTensors();
    for (let rest = tensorCount; rest > 0; rest--) {
      const [name, tensor] = this.#tensor();
      tensors[name] = tensor;
    }
    return { kind, id, meta, tensors };
  }

  #tensor(): readonly [string, Tensor] {
    const nameBytes = this.#integer();
    const packed = this.#integer();
    const contentBytes = this.#integer();
    const place = this.#integer();
    if (nameBytes > MAX_NAME_BYTES) throw new MalformedMessage(`it has a tensor with a name of ${nameBytes} bytes`);
    const name = this.#text(nameBytes);
    const dtype = dtypeAt(packed >> 8);
    const shape = this.#list(packed & 0xff);
    const elements = countElements(shape);
    if (dtype !== "bytes") {
      return [name, { dtype, shape, data: view(dtype, this.#content(contentBytes, place), elements) } as Tensor];
    }
    const ranges = this.#ranges(elements);
    const content = this.#content(contentBytes, place);
    const bytes: UncheckedBytes = { content, ranges, byteLength: 0 };
    if (elements > CHECKED_AT_ONCE) this.unchecked.push(bytes);
    else check(bytes, 0, ranges.length);
    return [name, createPackedTensor(shape, bytes)];
  }

  #ranges(elements: number): Uint32Array {
    const { buffer, byteOffset, byteLength } = this.#content(RANGE_BYTES * elements, this.#integer());
    if (byteOffset % Uint32Array.BYTES_PER_ELEMENT !== 0) throw new MalformedMessage("its ranges are not aligned");
    return new Uint32Array(buffer, byteOffset, byteLength / Uint32Array.BYTES_PER_ELEMENT);
  }

  /** Buffers are in the order of the tensors; several tensors may lie in one buffer. */
  #content(size: number, place: number): Uint8Array {
    if (place === -1) {
      const start = align(this.#position, 8);
      this.#position = this.#skip(start, size, this.#memory.byteLength);
      return new Uint8Array(this.#memory.buffer, start, size);
    }
    const buffer = this.#buffers[place];
    if (buffer === undefined || place > this.#usedBuffers) throw new MalformedMessage(`it has no buffer ${place}`);
    if (place === this.#usedBuffers) this.#usedBuffers++;
    const start = this.#integer();
    this.#skip(start, size, buffer.byteLength);
    return new Uint8Array(buffer, start, size);
  }

  #integer(): number {
    const value = this.#integers[this.#position >> 2];
    if (value === undefined) throw new MalformedMessage("it ends within a record");
    this.#position += 4;
    return value;
  }

  #list(length: number): number[] {
    const list: number[] = [];
    while (list.length < length) list.push(this.#integer());
    return list;
  }

  #text(size: number): string {
    const start = this.#position;
    this.#position = this.#skip(start, size, this.#memory.byteLength);
    return this.#memory.toString("utf8", start, start + size);
  }

  /** Reads a count, and checks that the rest of the frame has `bytes` for each element. */
  #count(count: number, bytes: number, what: string): number {
    if (count >= 0 && count * bytes <= this.#memory.byteLength - this.#position) return count;
    throw new MalformedMessage(`it claims ${count} ${what}`);
  }

  /** The position after `size` bytes, which have to lie within `end`. */
  #skip(start: number, size: number, end: number): number {
    if (start >= 0 && size >= 0 && start + size <= end) return align(start + size, 4);
    throw new MalformedMessage(`it claims ${size} bytes at ${start} of ${end}`);
  }
}

function parseMeta(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new MalformedMessage("its plain data is not JSON", { cause });
  }
}

function dtypeAt(index: number): DType {
  const dtype = DTYPES[index];
  if (dtype === undefined) throw new MalformedMessage(`it has no dtype ${index}`);
  return dtype;
}

function countElements(shape: readonly number[]): number {
  try {
    return elementCount(shape);
  } catch (cause) {
    throw new MalformedMessage(`it has a tensor of shape [${shape}]`, { cause });
  }
}

function view(dtype: NumericDType, { buffer, byteOffset, byteLength }: Uint8Array, elements: number) {
  const { array, bytes } = numericLayout(dtype);
  if (byteLength !== elements * bytes) {
    throw new MalformedMessage(`it has ${byteLength} bytes for ${elements} elements of ${dtype}`);
  }
  if (byteOffset % array.BYTES_PER_ELEMENT !== 0) throw new MalformedMessage(`its ${dtype} tensor is not aligned`);
  return new array(buffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT);
}

/** Checks the ranges from one index to another, and adds up their lengths: one pass, as millions of them take long. */
function check(packed: UncheckedBytes, from: number, to: number): void {
  const { ranges, content } = packed;
  const contentBytes = content.length;
  let byteLength = 0;
  for (let at = from; at < to; at += 2) {
    const start = ranges[at]!;
    const end = ranges[at + 1]!;
    if (start > end || end > contentBytes) throw new MalformedMessage(`it has an element from ${start} to ${end}`);
    byteLength += end - start;
  }
  packed.byteLength += byteLength;
}

function* checkInTurns(unchecked: UncheckedBytes[]): Generator<undefined> {
  for (let packed = unchecked.pop(); packed !== undefined; packed = unchecked.pop()) {
    const { length } = packed.ranges;
    for (let at = 0; at < length; at += 2 * CHECKED_AT_ONCE) {
      check(packed, at, Math.min(at + 2 * CHECKED_AT_ONCE, length));
      yield undefined;
    }
  }
}
