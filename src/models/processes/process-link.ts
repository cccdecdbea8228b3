import type { Duplex } from "node:stream";
import type { Frame } from "../../platform/threads/frame.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { IN_STREAM, LinkReader, PART_BYTES, PREFIX_BYTES } from "./link-reader.ts";
import type { RingReader } from "./ring-reader.ts";
import type { RingWriter } from "./ring-writer.ts";

/** Number of bytes from which on a memory file costs less than the socket. */
const RING_FROM_BYTES = 32 * 1024;
/** Port of messages that only say how much was read. */
const NO_PORT = 0xffffffff;
/** Messages through the memory file that may be read before the other side is notified, if nothing else is sent. */
const ACKNOWLEDGE_AFTER = 4;

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
