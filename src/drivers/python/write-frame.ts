import { PREFIX, PREFIX_BYTES, SIZE_BYTES } from "./frame-reader.ts";

/** A request for the Python process. */
export interface RequestFrame {
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
