/**
 * Begins each frame, little endian: u32 bytes of the header, u32 number of the request, u64 bytes of the body, and of a
 * request alone f64 deadline (milliseconds since 1970, 0 = none), i32 slot (-1 = none) and u32 number of the request
 * that a hook runs for (0 = none).
 */
export const PREFIX_BYTES = 32;
/** Offsets of the prefix's members. */
export const PREFIX = { headerSize: 0, id: 4, bodySize: 8, deadline: 16, slot: 24, context: 28 } as const;
/** Bytes of the body's size that are used: as many as Node reads into a number. */
export const SIZE_BYTES = 6;

/**
 * Bytes of a frame's header and body at most, and of its tensors in a slot: no message of gRPC is larger, and no text
 * of JavaScript. The same number is in python/kserving_host/frames.py.
 */
export const MAX_FRAME_BYTES = 2 ** 31;

/** Handlers of a {@link FrameReader}. */
interface FrameListener {
  /** Called with a whole frame; header and body may be views of the received data. */
  onFrame(id: number, header: Buffer, body: Buffer): void;
  /** Called with the size of a frame that is too large; its bytes are passed over. */
  onTooLarge(id: number, bytes: number): void;
}

/** Cuts what arrives on a stream into frames. */
export class FrameReader {
  readonly #listener: FrameListener;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #have = 0;
  /** Length of the present frame; only of its prefix until that is complete. */
  #need = PREFIX_BYTES;
  /** Bytes of a frame that is too large that are still to come. */
  #passBytes = 0;

  constructor(listener: FrameListener, maxBytes = MAX_FRAME_BYTES) {
    this.#listener = listener;
    this.#maxBytes = maxBytes;
  }

  /** Takes the next bytes of the stream. */
  push(chunk: Buffer): void {
    const passed = Math.min(this.#passBytes, chunk.length);
    this.#passBytes -= passed;
    if (passed < chunk.length) this.#take(passed === 0 ? chunk : chunk.subarray(passed));
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    while (this.#have >= this.#need) {
      const bytes = this.#join();
      const id = bytes.readUInt32LE(PREFIX.id);
      const headerEnd = PREFIX_BYTES + bytes.readUInt32LE(PREFIX.headerSize);
      const end = headerEnd + bytes.readUIntLE(PREFIX.bodySize, SIZE_BYTES);
      if (end > this.#maxBytes) {
        this.#pass(bytes, end);
        this.#listener.onTooLarge(id, end);
        continue;
      }
      this.#need = end;
      if (this.#have < end) return;
      this.#keep(bytes.subarray(end));
      this.#listener.onFrame(id, bytes.subarray(PREFIX_BYTES, headerEnd), bytes.subarray(headerEnd, end));
    }
  }

  #pass(bytes: Buffer, end: number): void {
    this.#passBytes = Math.max(0, end - bytes.length);
    this.#keep(bytes.subarray(end));
  }

  #join(): Buffer {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks.splice(0, this.#chunks.length, bytes);
    return bytes;
  }

  #keep(rest: Buffer): void {
    this.#chunks.splice(0, this.#chunks.length, ...(rest.length > 0 ? [rest] : []));
    this.#have = rest.length;
    this.#need = PREFIX_BYTES;
  }
}

/** A request for the Python process. */
interface RequestFrame {
  readonly id: number;
  /** Milliseconds since 1970; absent = none. */
  readonly deadline?: number | undefined;
  /** -1 = none. */
  readonly slot: number;
  /** Number of the request that a hook runs for; absent = none. */
  readonly context?: number | undefined;
  /** The same text for requests of the same kind, so that it need not be read again. */
  readonly header: string;
  readonly body: readonly Uint8Array[];
}

/** A frame in its own buffer: the stream may hold it longer than the caller waits. */
export function writeFrame({ id, deadline = 0, slot, context = 0, header, body }: RequestFrame): Buffer {
  const headerSize = Buffer.byteLength(header);
  const bodySize = body.reduce((sum, part) => sum + alignTo(8, part.byteLength), 0);
  const bytes = Buffer.alloc(PREFIX_BYTES + headerSize + bodySize);
  bytes.writeUInt32LE(headerSize, PREFIX.headerSize);
  bytes.writeUInt32LE(id, PREFIX.id);
  bytes.writeUIntLE(bodySize, PREFIX.bodySize, SIZE_BYTES);
  bytes.writeDoubleLE(deadline, PREFIX.deadline);
  bytes.writeInt32LE(slot, PREFIX.slot);
  bytes.writeUInt32LE(context, PREFIX.context);
  bytes.write(header, PREFIX_BYTES);
  let end = PREFIX_BYTES + headerSize;
  for (const part of body) {
    bytes.set(part, end);
    end += alignTo(8, part.byteLength);
  }
  return bytes;
}

/** The next multiple. */
export function alignTo(size: number, bytes: number): number {
  return Math.ceil(bytes / size) * size;
}
