import { FRAME_HEAD_BYTES } from "./http2-frames.ts";

/** Told of each frame; the payload is only valid during the call. */
export type OnFrame = (head: { type: number; flags: number; stream: number }, payload: Buffer) => void;

/** Cuts a stream of bytes into HTTP/2 frames. */
export class FrameSplitter {
  readonly #onFrame: OnFrame;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD_BYTES) {
      const end = at + FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const head = {
        type: bytes[at + 3] as number,
        flags: bytes[at + 4] as number,
        stream: bytes.readUInt32BE(at + 5) & 0x7fffffff,
      };
      this.#onFrame(head, bytes.subarray(at + FRAME_HEAD_BYTES, end));
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}
