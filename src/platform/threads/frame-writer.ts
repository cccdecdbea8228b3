import { ServingError } from "../../errors.ts";
import { type NumericData, numericLayout } from "../../tensor/dtype.ts";
import { isGone, packedOf } from "../../tensor/packed-bytes.ts";
import {
  assertCarriable,
  elementCount,
  isTransferred,
  type Tensor,
  type Tensors,
  toBytes,
} from "../../tensor/tensor.ts";
import {
  align,
  BufferCoverage,
  DTYPE_INDEX,
  FRAME_HEADER_BYTES,
  type Frame,
  OWN_BUFFER_BYTES,
  packElements,
  type WireRecord,
} from "./frame.ts";
import {
  copyBuffer,
  copyView,
  isUntransferable,
  OwnMap,
  OwnWeakSet,
  setView,
  subView,
  toJson,
} from "./own-built-ins.ts";

const FIRST_CAPACITY = 4096;

/** Buffers that this thread has transferred, or is about to: none may be transferred twice, on any channel. */
const handedOver = new OwnWeakSet<ArrayBufferLike>();
const encoder = new TextEncoder();

/** The tensors of a record, and the permission to transfer them. */
interface Ownership {
  readonly transfer: boolean;
  readonly all: Tensors;
}

/** Packs records into one frame. */
export class FrameWriter {
  #memory = new ArrayBuffer(FIRST_CAPACITY);
  #integers = new Int32Array(this.#memory);
  #bytes = new Uint8Array(this.#memory);
  #position = FRAME_HEADER_BYTES;
  #records = 0;
  #buffers: ArrayBuffer[] = [];
  /** Coverage of the buffers of the record's tensors; computed for the first tensor that may be transferred. */
  #coverage: BufferCoverage | undefined;
  readonly #maxMetaBytes: number;
  /** Index in {@link #buffers} of each buffer that was transferred for the present record. */
  readonly #transferred = new OwnMap<ArrayBufferLike, number>();

  /** `maxMetaBytes` = those of plain data that the other side takes. */
  constructor(maxMetaBytes = Number.POSITIVE_INFINITY) {
    this.#maxMetaBytes = maxMetaBytes;
  }

  /** Makes buffers of a frame that was copied, not posted, ones that may be transferred again: a pool reuses them. */
  static takeBack(buffers: readonly ArrayBuffer[]): void {
    for (const buffer of buffers) handedOver.delete(buffer);
  }

  /** True if nothing was written since the last {@link take}. */
  get isEmpty(): boolean {
    return this.#records === 0;
  }

  /**
   * Adds a record. With `transfer`, a large tensor that is the only user of its buffer is transferred, and unusable on
   * this side once the frame is posted; otherwise its content is copied, so that the sender keeps it.
   */
  write(record: WireRecord, transfer: boolean): void {
    const start = this.#position;
    const bufferCount = this.#buffers.length;
    try {
      this.#record(record, transfer);
    } catch (reason) {
      // Half a record would make all others of its frame unreadable.
      this.#position = start;
      for (const buffer of this.#buffers.splice(bufferCount)) handedOver.delete(buffer);
      throw reason;
    } finally {
      this.#coverage = undefined;
      if (this.#transferred.size > 0) this.#transferred.clear();
    }
    this.#records++;
  }

  #record(record: WireRecord, transfer: boolean): void {
    const { kind, id, meta, tensors } = record;
    const metaText = meta === undefined ? "" : toJson(meta);
    this.#reserve(24 + 3 * metaText.length);
    const start = this.#position >> 2;
    this.#position += 16;
    this.#integers[start] = kind;
    this.#integers[start + 1] = id;
    const metaBytes = this.#text(metaText);
    if (metaBytes > this.#maxMetaBytes) throw tooMuchData(metaBytes, this.#maxMetaBytes);
    this.#integers[start + 2] = metaBytes;
    let count = 0;
    for (const name in tensors) {
      this.#tensor(name, tensors[name]!, { transfer, all: tensors });
      count++;
    }
    this.#integers[start + 3] = count;
  }

  /** The frame so far, to be posted with the buffers to transfer; the writer is empty again. */
  take(): { readonly frame: Frame; readonly transfer: ArrayBuffer[] } {
    this.#integers[0] = this.#records;
    this.#integers[1] = this.#position;
    // Copied, so that the writer's memory can be used for the next frame.
    const frame = copyBuffer(this.#memory, 0, align(this.#position, 8));
    const transfer = this.#buffers;
    this.#records = 0;
    this.#position = FRAME_HEADER_BYTES;
    this.#buffers = [];
    return transfer.length === 0 ? { frame, transfer } : { frame: [frame, ...transfer], transfer };
  }

  #tensor(name: string, tensor: Tensor, ownership: Ownership): void {
    const { dtype, shape } = tensor;
    checkTensor(name, tensor);
    const kept = packedOf(tensor);
    const packed = kept ?? (tensor.dtype === "bytes" ? packElements(tensor.data) : undefined);
    const content = packed?.content ?? toBytes(tensor.data as NumericData);
    const ranges = packed && toBytes(packed.ranges);
    if (content.length > MAX_CONTENT_BYTES) throw tooLarge(name, content.length);
    const inlineBytes = inlineSize(content) + (ranges === undefined ? 0 : 8 + inlineSize(ranges));
    this.#reserve(40 + 3 * name.length + 4 * shape.length + inlineBytes);
    const start = this.#position >> 2;
    this.#position += 16;
    this.#integers[start] = this.#text(name);
    this.#integers[start + 1] = (DTYPE_INDEX.get(dtype)! << 8) | shape.length;
    this.#integers[start + 2] = content.length;
    for (const size of shape) this.#integer(size);
    // Packed content has no other user, unless it is a single element that was not copied.
    const isOwn = packed !== undefined && kept === undefined && packed.ranges.length !== 2;
    const transfer = ownership.transfer || isOwn || isTransferred(tensor);
    if (ranges !== undefined) this.#ranges(ranges, { transfer, all: ownership.all });
    this.#integers[start + 3] = this.#content(content, { transfer, all: ownership.all });
  }

  #ranges(ranges: Uint8Array, ownership: Ownership): void {
    const place = this.#position >> 2;
    this.#position += 4;
    this.#integers[place] = this.#content(ranges, ownership);
  }

  /** Writes content into the frame, or adds it as a buffer; returns its place. */
  #content(content: Uint8Array, ownership: Ownership): number {
    return content.length < OWN_BUFFER_BYTES ? this.#inline(content) : this.#own(content, ownership);
  }

  #inline(content: Uint8Array): number {
    this.#position = align(this.#position, 8);
    copyInto(this.#bytes, content, this.#position);
    this.#position = align(this.#position + content.length, 4);
    return -1;
  }

  #own(content: Uint8Array, { transfer, all }: Ownership): number {
    const { buffer } = content;
    const place = this.#transferred.get(buffer);
    const isShared = place !== undefined;
    const mayGive = transfer && (isShared || (!handedOver.has(buffer) && this.#isOwned(content, all)));
    const bytes = mayGive ? content : copyView(content);
    this.#integer(bytes.byteOffset);
    if (mayGive && isShared) return place;
    handedOver.add(bytes.buffer);
    const added = this.#buffers.push(bytes.buffer as ArrayBuffer) - 1;
    if (mayGive) this.#transferred.set(buffer, added);
    return added;
  }

  /** Checks that only the record's own tensors use the buffer of one of them. */
  #isOwned(content: Uint8Array, all: Tensors): boolean {
    if (isUntransferable(content.buffer)) return false;
    if (isAlone(content)) return true;
    this.#coverage ??= new BufferCoverage(all);
    return this.#coverage.isWhole(content.buffer);
  }

  #integer(value: number): void {
    this.#integers[this.#position >> 2] = value;
    this.#position += 4;
  }

  /** Writes UTF-8 and returns its length in bytes. */
  #text(text: string): number {
    const start = this.#position;
    const written =
      writeName(this.#bytes, text, start) ?? encoder.encodeInto(text, subView(this.#bytes, start)).written;
    this.#position = align(start + written, 4);
    return written;
  }

  #reserve(size: number): void {
    const needed = this.#position + size;
    if (needed <= this.#memory.byteLength) return;
    const grown = new ArrayBuffer(align(Math.max(needed, 2 * this.#memory.byteLength), 8));
    setView(new Uint8Array(grown), subView(this.#bytes, 0, this.#position));
    this.#memory = grown;
    this.#integers = new Int32Array(grown);
    this.#bytes = new Uint8Array(grown);
  }
}

/**
 * A name is short: a call of the encoder costs more than a loop. Returns its length,
 * or undefined for a long text or one beyond ASCII.
 */
function writeName(target: Uint8Array, text: string, start: number): number | undefined {
  if (text.length > 32) return undefined;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 127) return undefined;
    target[start + index] = code;
  }
  return text.length;
}

function inlineSize({ length }: Uint8Array): number {
  return length < OWN_BUFFER_BYTES ? length : 4;
}

/** Maximum number of bytes in a buffer besides the content that owns it: the rest of the message that contained it. */
const MAX_SLACK_BYTES = 1024;

/** A buffer that is pooled, or holds much else, is not transferred: its other views would lose their content. */
function isAlone({ buffer, byteLength }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.byteLength - byteLength <= MAX_SLACK_BYTES;
}

/** A call of `set` costs more than a short loop. */
function copyInto(target: Uint8Array, content: Uint8Array, position: number): void {
  if (content.length > 128) {
    setView(target, content, position);
    return;
  }
  for (let index = 0; index < content.length; index++) target[position + index] = content[index]!;
}

/** Content of a tensor in a frame, at most, in bytes: its length is a signed integer of 32 bits. */
export const MAX_CONTENT_BYTES = 2 ** 31 - 1;

function tooLarge(name: string, bytes: number): ServingError {
  return new ServingError(
    "resource_exhausted",
    `${name} has ${bytes} bytes; a tensor that crosses threads has ${MAX_CONTENT_BYTES} at most. Send it in parts, or as several tensors.`,
  );
}

function tooMuchData(bytes: number, max: number): ServingError {
  return new ServingError(
    "internal",
    `The values have ${bytes} bytes of texts and plain lists; expected ${max} at most. Use tensors or arrays for what is large.`,
  );
}

/** A tensor that was transferred before, or is malformed, must not make a frame unreadable. */
function checkTensor(name: string, tensor: Tensor): void {
  const { dtype, shape } = tensor;
  assertCarriable(shape, name);
  const slots = dtype === "bytes" ? 1 : numericLayout(dtype).slots;
  const length = lengthOf(tensor);
  if (length === elementCount(shape) * slots) return;
  const why = length === 0 ? "; was it given away with transfer()?" : "";
  throw new ServingError("internal", `${name} has ${length} values, but its shape [${shape}] claims others${why}.`);
}

function lengthOf(tensor: Tensor): number {
  const packed = packedOf(tensor);
  if (packed === undefined) return tensor.data.length;
  return isGone(packed) ? 0 : packed.ranges.length / 2;
}
