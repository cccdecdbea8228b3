import { DTYPES, type DType, type NumericDType, numericLayout } from "../tensor/dtype.ts";
import { createTensors, elementCount, type Tensor } from "../tensor/tensor.ts";
import { align, FRAME_HEADER_BYTES, type Frame } from "./frame.ts";
import type { WireRecord } from "./wire-record.ts";

/** The records of a frame, in the order they were written; tensors view the frame's buffers. */
export function* readFrame(frame: Frame): Generator<WireRecord> {
  const [memory, ...buffers] = frame instanceof ArrayBuffer ? [frame] : frame;
  const reader = new FrameReader(memory, buffers);
  for (let rest = reader.recordCount; rest > 0; rest--) yield reader.record();
}

class FrameReader {
  readonly recordCount: number;
  readonly #memory: Buffer<ArrayBuffer>;
  readonly #integers: Int32Array;
  readonly #buffers: readonly ArrayBuffer[];
  #position = FRAME_HEADER_BYTES;

  constructor(memory: ArrayBuffer, buffers: readonly ArrayBuffer[]) {
    this.#memory = Buffer.from(memory);
    this.#integers = new Int32Array(memory);
    this.#buffers = buffers;
    this.recordCount = this.#integers[0] as number;
  }

  record(): WireRecord {
    const kind = this.#integer();
    const id = this.#integer();
    const metaBytes = this.#integer();
    const tensorCount = this.#integer();
    const meta = metaBytes === 0 ? undefined : JSON.parse(this.#text(metaBytes));
    if (tensorCount === 0) return meta === undefined ? { kind, id } : { kind, id, meta };
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
    const name = this.#text(nameBytes);
    const dtype = DTYPES[packed >> 8] as DType;
    const shape = this.#list(packed & 0xff);
    const ends = dtype === "bytes" ? this.#list(elementCount(shape)) : [];
    const content = this.#content(contentBytes, place);
    const data = dtype === "bytes" ? split(content, ends) : view(dtype, content);
    return [name, { dtype, shape, data } as Tensor];
  }

  #content(size: number, place: number): Uint8Array {
    if (place >= 0) return new Uint8Array(this.#buffers[place] as ArrayBuffer, this.#integer(), size);
    const start = align(this.#position, 8);
    this.#position = align(start + size, 4);
    return new Uint8Array(this.#memory.buffer, start, size);
  }

  #integer(): number {
    const value = this.#integers[this.#position >> 2] as number;
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
    this.#position = align(start + size, 4);
    return this.#memory.toString("utf8", start, start + size);
  }
}

function view(dtype: NumericDType, { buffer, byteOffset, byteLength }: Uint8Array) {
  const { array } = numericLayout(dtype);
  return new array(buffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT);
}

function split(content: Uint8Array, ends: readonly number[]): Uint8Array[] {
  return ends.map((end, index) => content.subarray(ends[index - 1] ?? 0, end));
}
