import { borrowMemory } from "../../limits/memory/borrowed-memory.ts";
import type { Frame } from "../../threads/frame.ts";
import { MalformedMessage } from "../../threads/malformed-message.ts";
import type { RingReader } from "./ring-reader.ts";

/**
 * A message between processes, little endian: u32 port, u32 number of parts, u32 messages that the sender has read
 * (modulo 2^32), then for each part u32 bytes and u32 place in the memory file, then the parts whose place is
 * {@link IN_STREAM}. The parts are those of a {@link Frame}; a message without parts only says how much was read.
 */
export const PREFIX_BYTES = 12;
/** Bytes that describe one part. */
export const PART_BYTES = 8;
/** Place of a part that follows in the stream itself. */
export const IN_STREAM = 0xffffffff;

/** Parts of a message at most: more tensors of 16 KB and more than fit the memory of a machine. */
const MAX_PARTS = 1 << 20;

/** Called for each message; `read` = messages that the sender has read. */
type LinkListener = (port: number, message: Frame | undefined, read: number) => void;

/** Limits and parts of a {@link LinkReader}. */
export interface LinkReaderOptions {
  /** Absent where there is no memory file. */
  readonly ring: RingReader | undefined;
  /** Bytes that a message may take in the stream. */
  readonly maxBytes: number;
  readonly onMessage: LinkListener;
}

/**
 * Cuts what arrives from another process into messages. The sender is not trusted: no
 * more memory is taken than has arrived, or lies in the memory file, and
 * {@link MalformedMessage} is thrown for anything that a link would not have written.
 */
export class LinkReader {
  readonly #options: LinkReaderOptions;
  readonly #chunks: Buffer[] = [];
  #have = 0;
  /** Bytes of the message under way, as far as they are known. */
  #need = PREFIX_BYTES;

  constructor(options: LinkReaderOptions) {
    this.#options = options;
  }

  /** Takes the next bytes of the stream. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    while (this.#have >= this.#need) {
      const bytes = this.#join();
      const end = this.#sizeOf(bytes);
      if (end > this.#need) {
        this.#need = end;
        continue;
      }
      this.#need = PREFIX_BYTES;
      this.#have -= end;
      if (this.#have > 0) this.#chunks[0] = bytes.subarray(end);
      else this.#chunks.length = 0;
      this.#take(bytes);
    }
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks.splice(0, this.#chunks.length, Buffer.concat(this.#chunks));
    return this.#chunks[0]!;
  }

  /** Bytes of the message, or of its head where that has not arrived. */
  #sizeOf(bytes: Buffer): number {
    const parts = bytes.readUInt32LE(4);
    if (parts > MAX_PARTS) throw new MalformedMessage(`it claims ${parts} parts`);
    const head = PREFIX_BYTES + parts * PART_BYTES;
    if (bytes.length < head) return head;
    const size = { stream: 0, ring: 0 };
    for (let at = PREFIX_BYTES; at < head; at += PART_BYTES)
      size[bytes.readUInt32LE(at + 4) === IN_STREAM ? "stream" : "ring"] += bytes.readUInt32LE(at);
    this.#assertSize(size);
    return head + size.stream;
  }

  #assertSize({ stream, ring }: { readonly stream: number; readonly ring: number }): void {
    const { maxBytes, ring: file } = this.#options;
    if (stream > maxBytes) throw new MalformedMessage(`it claims ${stream} bytes; expected ${maxBytes} at most`);
    if (ring > (file?.size ?? 0)) throw new MalformedMessage(`it claims ${ring} bytes of the memory file`);
  }

  #take(bytes: Buffer): void {
    const parts = bytes.readUInt32LE(4);
    const contents: ArrayBuffer[] = [];
    let start = PREFIX_BYTES + parts * PART_BYTES;
    for (let index = 0; index < parts; index++) {
      const at = PREFIX_BYTES + index * PART_BYTES;
      const [size, place] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
      if (place === IN_STREAM) {
        contents.push(ownCopy(bytes, start, size));
        start += size;
      } else contents.push(this.#fromRing(place, size, index === 0 ? newMemory : borrowMemory));
    }
    const [frame, ...buffers] = contents;
    const message = frame === undefined || buffers.length === 0 ? frame : ([frame, ...buffers] as const);
    this.#options.onMessage(bytes.readUInt32LE(0), message, bytes.readUInt32LE(8));
  }

  /** The frame itself may hold tensors of several requests; any other part belongs to one. */
  #fromRing(place: number, size: number, allocate: (bytes: number) => ArrayBuffer): ArrayBuffer {
    const { ring } = this.#options;
    if (ring === undefined) throw new MalformedMessage("there is no memory file that it could name");
    return ring.read(place, size, allocate);
  }
}

function newMemory(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer;
}

/** Memory of its own for each part: tensors view it, and may be handed to other threads. */
function ownCopy(bytes: Buffer, start: number, size: number): ArrayBuffer {
  const copy = Buffer.allocUnsafeSlow(size);
  bytes.copy(copy, 0, start, start + size);
  return copy.buffer as ArrayBuffer;
}
