import { HEAD_BYTES } from "../../src/http2/protocol.ts";

/** A frame, whole. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** Cuts what one side of a connection sends into frames, of which it checks nothing. */
export class ReceivedFrames {
  #bytes: Buffer = Buffer.alloc(0);

  /** Returns the frames that are whole with these bytes. */
  add(bytes: Buffer): ReceivedFrame[] {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    const frames: ReceivedFrame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): ReceivedFrame | undefined {
    const bytes = this.#bytes;
    if (bytes.length < HEAD_BYTES) return undefined;
    const end = HEAD_BYTES + bytes.readUIntBE(0, 3);
    if (bytes.length < end) return undefined;
    this.#bytes = bytes.subarray(end);
    const [type, flags] = [bytes[3] as number, bytes[4] as number];
    return { type, flags, id: bytes.readUInt32BE(5), payload: bytes.subarray(HEAD_BYTES, end) };
  }
}
