import { ConnectionError, ERROR, FLAG, FRAME, HEAD_BYTES, MAX_PAYLOAD_BYTES } from "./protocol.ts";

/** Takes the frames of a connection; bytes lie between two indexes of memory that is only valid during the call. */
export interface FrameSink {
  /** A frame that has no data; one of unknown type without its payload. */
  takeFrame(frame: FrameHead, bytes: Buffer, start: number, end: number): void;
  /** The head of a frame of data; `paddingBytes` include the one that says how many there are. */
  beginData(frame: FrameHead, paddingBytes: number): void;
  /** Some of its data. */
  takeData(bytes: Buffer, start: number, end: number): void;
  endData(): void;
}

/** A frame's head (RFC 9113 §4.1). One object is used for all frames of a connection. */
export interface FrameHead {
  /** Bytes of the payload. */
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  /** Number of the stream, without the reserved bit; 0 = the connection. */
  readonly id: number;
}

/** Size up to which memory for incomplete frames is kept for the next one, in bytes. */
const KEPT_BYTES = 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts received bytes, in chunks of any size, into frames. Data is passed on as it comes; other frames once they are
 * whole, in memory that grows as their bytes come.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #head = { length: 0, type: 0, flags: 0, id: 0 };
  /** The beginning of a frame that has not come whole. */
  #partial: Buffer = NOTHING;
  #partialBytes = 0;
  #isInData = false;
  #dataLeft = 0;
  /** Bytes of padding, or of an unknown frame, that are still to come. */
  #skipLeft = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /**
   * Takes one frame, or as much of one as there is, from the given index on; returns the next index. Throws a
   * ConnectionError for a frame that is too large, or what the sink throws.
   */
  next(bytes: Buffer, at: number): number {
    if (this.#dataLeft > 0) return this.#passData(bytes, at);
    if (this.#skipLeft > 0) return this.#skip(bytes, at);
    if (this.#partialBytes > 0) return this.#complete(bytes, at);
    const needed = bytes.length - at < HEAD_BYTES ? HEAD_BYTES : this.#parseHead(bytes, at);
    const end = at + needed;
    if (end > bytes.length) return this.#keep(bytes, at, bytes.length);
    this.#take(bytes, at + HEAD_BYTES, end);
    return end;
  }

  /**
   * Parses a head; returns the bytes of its frame that have to be together: its head, of data the length of padding,
   * and of other known frames all.
   */
  #parseHead(bytes: Buffer, at: number): number {
    const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    // Most frames that may be so large belong to the whole connection, which a stream's error would not repair (§4.2).
    if (length > MAX_PAYLOAD_BYTES) throw new ConnectionError(ERROR.frameSize, "a frame is too large");
    const head = this.#head;
    head.length = length;
    head.type = bytes[at + 3] as number;
    head.flags = bytes[at + 4] as number;
    head.id = bytes.readUInt32BE(at + 5) & 0x7fffffff;
    if (head.type === FRAME.data) return length > 0 && (head.flags & FLAG.padded) !== 0 ? HEAD_BYTES + 1 : HEAD_BYTES;
    return head.type > FRAME.continuation ? HEAD_BYTES : HEAD_BYTES + length;
  }

  #take(bytes: Buffer, start: number, end: number): void {
    const head = this.#head;
    if (head.type === FRAME.data) {
      this.#beginData(bytes[start] as number);
      return;
    }
    if (head.type > FRAME.continuation) this.#skipLeft = head.length;
    this.#sink.takeFrame(head, bytes, start, end);
  }

  #beginData(firstByte: number): void {
    const head = this.#head;
    const isPadded = (head.flags & FLAG.padded) !== 0;
    const paddingBytes = isPadded ? firstByte + 1 : 0;
    // §6.1: padding as long as the payload, or longer, is a connection error; so is the lack of its length (§4.2).
    if (isPadded && head.length === 0) throw new ConnectionError(ERROR.frameSize, "padding without its length");
    if (paddingBytes > head.length) throw new ConnectionError(ERROR.protocol, "padding is longer than its frame");
    this.#sink.beginData(head, paddingBytes);
    this.#isInData = true;
    this.#dataLeft = head.length - paddingBytes;
    this.#skipLeft = isPadded ? firstByte : 0;
    this.#endWhenDone();
  }

  #passData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#dataLeft);
    this.#dataLeft -= end - at;
    this.#sink.takeData(bytes, at, end);
    this.#endWhenDone();
    return end;
  }

  #skip(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#skipLeft);
    this.#skipLeft -= end - at;
    this.#endWhenDone();
    return end;
  }

  #endWhenDone(): void {
    if (!this.#isInData || this.#dataLeft > 0 || this.#skipLeft > 0) return;
    this.#isInData = false;
    this.#sink.endData();
  }

  /** Goes on with an incomplete frame. */
  #complete(bytes: Buffer, at: number): number {
    const hasHead = this.#partialBytes >= HEAD_BYTES;
    const needed = hasHead ? this.#parseHead(this.#partial, 0) : HEAD_BYTES;
    const end = this.#keep(bytes, at, Math.min(bytes.length, at + needed - this.#partialBytes));
    if (this.#partialBytes < HEAD_BYTES) return end;
    const all = this.#parseHead(this.#partial, 0);
    if (this.#partialBytes < all) return end;
    const partial = this.#partial;
    this.#partialBytes = 0;
    if (partial.length > KEPT_BYTES) this.#partial = NOTHING;
    this.#take(partial, HEAD_BYTES, all);
    return end;
  }

  /** Memory grows as bytes come, not as they are announced. */
  #keep(bytes: Buffer, at: number, end: number): number {
    const kept = this.#partialBytes + end - at;
    if (kept > this.#partial.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(64, 2 * kept));
      larger.set(this.#partial.subarray(0, this.#partialBytes));
      this.#partial = larger;
    }
    this.#partial.set(bytes.subarray(at, end), this.#partialBytes);
    this.#partialBytes = kept;
    return end;
  }
}
