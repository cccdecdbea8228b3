import type { Duplex } from "node:stream";
import { borrowMemory } from "../../platform/limits/memory/memory-pool.ts";
import type { Frame } from "../../platform/threads/frame.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import type { RingReader } from "./ring-reader.ts";
import type { RingWriter } from "./ring-writer.ts";

/** Number of bytes from which on a memory file costs less than the socket. */
const RING_FROM_BYTES = 32 * 1024;
/** Port of messages that only say how much was read. */
const NO_PORT = 0xffffffff;
/** Messages through the memory file that may be read before the other side is notified, if nothing else is sent. */
const ACKNOWLEDGE_AFTER = 4;
/**
 * A message between processes, little endian: u32 port, u32 number of parts, u32 messages that the sender has read
 * (modulo 2^32), then for each part u32 bytes and u32 place in the memory file, then the parts whose place is
 * {@link IN_STREAM}. The parts are those of a {@link Frame}; a message without parts only says how much was read.
 */
const PREFIX_BYTES = 12;
/** Bytes that describe one part. */
const PART_BYTES = 8;
/** Place of a part that follows in the stream itself. */
export const IN_STREAM = 0xffffffff;
/** Parts of a message at most: as many tensors of 16 KB and more take a gigabyte. */
const MAX_PARTS = 1 << 16;
const NOTHING = Buffer.alloc(0);

/** Parts of a {@link ProcessLink}. */
export interface LinkParts {
  readonly stream: Duplex;
  /** The memory files; absent if there are none. */
  readonly out?: RingWriter | undefined;
  readonly in?: RingReader | undefined;
  /** Bytes that a message of the other side may take in the stream. */
  readonly maxBytes: number;
  /** Called for each message; may throw {@link MalformedMessage} for one that the other side should not have sent. */
  readonly onMessage: (port: number, message: Frame) => void;
  /** Called once, when the other side sent something other than a message; nothing is read from then on. */
  readonly onMalformed: (reason: MalformedMessage) => void;
}

/** Connection to another process, for messages on any number of ports: a socket, and memory files for large parts. */
export class ProcessLink {
  readonly #parts: LinkParts;
  readonly #reader: LinkReader;
  #sent = 0;
  #read = 0;
  /** Messages read when the other side was last notified. */
  #acknowledged = 0;
  #isBroken = false;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    const { stream, maxBytes } = parts;
    const onMessage = this.#receive.bind(this);
    this.#reader = new LinkReader({ ring: parts.in, maxBytes, onMessage });
    stream.on("data", (chunk: Buffer) => this.#push(chunk));
    // The end of the process is reported by its watcher.
    stream.on("error", () => {});
  }

  /** Sends a message, which is copied at once; one to a process that has ended is lost. */
  post(port: number, message: Frame): void {
    const { stream, out } = this.#parts;
    if (stream.destroyed || stream.writableEnded) return;
    const parts = message instanceof ArrayBuffer ? [message] : message;
    const places = parts.map((part) => {
      const isLarge = part.byteLength >= RING_FROM_BYTES;
      return (isLarge ? out?.write(new Uint8Array(part)) : undefined) ?? IN_STREAM;
    });
    out?.endMessage(++this.#sent >>> 0);
    stream.write(this.#pack(port, parts, places));
  }

  #pack(port: number, parts: readonly ArrayBuffer[], places: readonly number[]): Buffer {
    const head = PREFIX_BYTES + parts.length * PART_BYTES;
    const size = parts.reduce(
      (sum, { byteLength }, index) => sum + (places[index] === IN_STREAM ? byteLength : 0),
      head,
    );
    const bytes = Buffer.allocUnsafe(size);
    bytes.writeUInt32LE(port, 0);
    bytes.writeUInt32LE(parts.length, 4);
    bytes.writeUInt32LE(this.#read, 8);
    this.#acknowledged = this.#read;
    let end = head;
    for (const [index, part] of parts.entries()) {
      const at = PREFIX_BYTES + index * PART_BYTES;
      bytes.writeUInt32LE(part.byteLength, at);
      bytes.writeUInt32LE(places[index]!, at + 4);
      if (places[index] !== IN_STREAM) continue;
      bytes.set(new Uint8Array(part), end);
      end += part.byteLength;
    }
    return bytes;
  }

  #push(chunk: Buffer): void {
    if (this.#isBroken) return;
    try {
      this.#reader.push(chunk);
    } catch (reason) {
      if (!(reason instanceof MalformedMessage)) throw reason;
      this.#isBroken = true;
      this.#parts.onMalformed(reason);
    }
  }

  #receive(port: number, message: Frame | undefined, read: number): void {
    this.#parts.out?.acknowledge(read);
    if (message === undefined) return;
    this.#read = (this.#read + 1) >>> 0;
    if (!(message instanceof ArrayBuffer)) this.#acknowledge();
    this.#parts.onMessage(port, message);
  }

  /** Questions may wait for long before anything is answered, and their memory would not be used again meanwhile. */
  #acknowledge(): void {
    if ((this.#read - this.#acknowledged) >>> 0 >= ACKNOWLEDGE_AFTER) this.greet();
  }

  /** Says nothing but how much was read: a sign of life. */
  greet(): void {
    const { stream } = this.#parts;
    if (!stream.writableEnded) stream.write(this.#pack(NO_PORT, [], []));
  }
}

/** Called for each message; `read` = messages that the sender has read. */
type LinkListener = (port: number, message: Frame | undefined, read: number) => void;

/** Limits and parts of a {@link LinkReader}. */
interface LinkReaderOptions {
  /** Absent if there is no memory file. */
  readonly ring: RingReader | undefined;
  /** Bytes that a message may take in the stream. */
  readonly maxBytes: number;
  readonly onMessage: LinkListener;
}

/**
 * Cuts what arrives from another process into messages. The sender is not trusted: memory is taken for one part at a
 * time, when it begins to arrive, and the system gives it as it is written; {@link MalformedMessage} is thrown for
 * anything that a link would not have written.
 */
export class LinkReader {
  readonly #options: LinkReaderOptions;
  /** The beginning of a head. */
  #rest: Buffer = NOTHING;
  /** The message whose head has arrived. */
  #open: OpenMessage | undefined;

  constructor(options: LinkReaderOptions) {
    this.#options = options;
  }

  /** Takes the next bytes of the stream, and copies what belongs to a part at once: all of it at its end takes long. */
  push(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0; )
      rest = this.#open === undefined ? this.#takeHead(rest) : this.#fill(this.#open, rest);
  }

  #takeHead(bytes: Buffer): Buffer {
    const have = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const size = headSize(have);
    if (have.length < size) {
      this.#rest = have;
      return NOTHING;
    }
    this.#rest = NOTHING;
    const head = have.subarray(0, size);
    this.#checkSizes(head);
    this.#goOn({ head, contents: [], part: NOTHING, filled: 0 });
    return have.subarray(size);
  }

  #fill(message: OpenMessage, bytes: Buffer): Buffer {
    const { part, filled } = message;
    const count = bytes.copy(part, filled);
    message.filled += count;
    if (message.filled === part.length) {
      message.contents.push(part.buffer as ArrayBuffer);
      this.#goOn(message);
    }
    return bytes.subarray(count);
  }

  /** Makes room for the next part that comes in the stream, or passes the message on if there is none. */
  #goOn(message: OpenMessage): void {
    const { head, contents } = message;
    for (let at = partPlace(contents.length); at < head.length; at += PART_BYTES) {
      const [size, place] = [head.readUInt32LE(at), head.readUInt32LE(at + 4)];
      if (place !== IN_STREAM)
        contents.push(this.#fromRing(place, size, contents.length === 0 ? newMemory : borrowMemory));
      else if (size === 0) contents.push(new ArrayBuffer(0));
      else {
        message.part = Buffer.allocUnsafeSlow(size);
        message.filled = 0;
        this.#open = message;
        return;
      }
    }
    this.#open = undefined;
    const [frame, ...buffers] = contents;
    const whole = frame === undefined || buffers.length === 0 ? frame : ([frame, ...buffers] as const);
    this.#options.onMessage(head.readUInt32LE(0), whole, head.readUInt32LE(8));
  }

  #checkSizes(head: Buffer): void {
    const size = { stream: 0, ring: 0 };
    for (let at = PREFIX_BYTES; at < head.length; at += PART_BYTES)
      size[head.readUInt32LE(at + 4) === IN_STREAM ? "stream" : "ring"] += head.readUInt32LE(at);
    this.#assertSize(size);
  }

  #assertSize({ stream, ring }: { readonly stream: number; readonly ring: number }): void {
    const { maxBytes, ring: file } = this.#options;
    if (stream > maxBytes) throw new MalformedMessage(`it claims ${stream} bytes; expected ${maxBytes} at most`);
    if (ring > (file?.size ?? 0)) throw new MalformedMessage(`it claims ${ring} bytes of the memory file`);
  }

  /** The frame itself may hold tensors of several requests; any other part belongs to one. */
  #fromRing(place: number, size: number, allocate: (bytes: number) => ArrayBuffer): ArrayBuffer {
    const { ring } = this.#options;
    if (ring === undefined) throw new MalformedMessage("there is no memory file that it could name");
    return ring.read(place, size, allocate);
  }
}

/** A message under way. */
interface OpenMessage {
  readonly head: Buffer;
  /** Its parts that have arrived. */
  readonly contents: ArrayBuffer[];
  /** Own memory for the part under way: tensors view it, and may be handed to other threads. */
  part: Buffer;
  filled: number;
}

/** Bytes of the head that begins a text, as far as they are known. */
function headSize(bytes: Buffer): number {
  if (bytes.length < PREFIX_BYTES) return PREFIX_BYTES;
  const parts = bytes.readUInt32LE(4);
  if (parts > MAX_PARTS) throw new MalformedMessage(`it claims ${parts} parts`);
  return partPlace(parts);
}

function partPlace(index: number): number {
  return PREFIX_BYTES + index * PART_BYTES;
}

function newMemory(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer;
}
