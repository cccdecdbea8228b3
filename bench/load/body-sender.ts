import {
  DEFAULT_FRAME_BYTES,
  DEFAULT_WINDOW_BYTES,
  encodeFrame,
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  SETTING,
  writeFrameHead,
} from "./http2-frames.ts";

/** Chunks up to this size are copied behind their frame's head, larger ones are sent as they are. */
const COPIED_BYTES = 1024;

interface Body {
  readonly stream: number;
  readonly bytes: Buffer;
  sent: number;
  windowBytes: number;
}

/** Sends bodies over one HTTP/2 connection, no faster than the server's windows allow. */
export class BodySender {
  readonly #write: (bytes: Buffer) => void;
  /** Bodies with bytes left to send, oldest first. */
  readonly #unsent = new Map<number, Body>();
  #windowBytes = DEFAULT_WINDOW_BYTES;
  #streamWindowBytes = DEFAULT_WINDOW_BYTES;
  #frameBytes = DEFAULT_FRAME_BYTES;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  send(stream: number, bytes: Buffer): void {
    const body = { stream, bytes, sent: 0, windowBytes: this.#streamWindowBytes };
    this.#unsent.set(stream, body);
    this.#sendOn(body);
  }

  /** Sends no more of a body. */
  forget(stream: number): void {
    this.#unsent.delete(stream);
  }

  /** The server takes more: on a stream, or, for stream 0, on the connection. */
  widen(stream: number, bytes: number): void {
    const body = this.#unsent.get(stream);
    if (stream === 0) this.#windowBytes += bytes;
    else if (body !== undefined) body.windowBytes += bytes;
    this.#sendAll();
  }

  /** Heeds the server's settings. */
  configure(settings: Buffer): void {
    for (let at = 0; at < settings.length; at += 6) {
      const value = settings.readUInt32BE(at + 2);
      const id = settings.readUInt16BE(at);
      if (id === SETTING.maxFrameSize) this.#frameBytes = value;
      if (id === SETTING.initialWindowSize) this.#resizeWindows(value);
    }
    this.#sendAll();
  }

  #resizeWindows(bytes: number): void {
    for (const body of this.#unsent.values()) body.windowBytes += bytes - this.#streamWindowBytes;
    this.#streamWindowBytes = bytes;
  }

  #sendAll(): void {
    for (const body of this.#unsent.values()) {
      if (this.#windowBytes === 0) return;
      this.#sendOn(body);
    }
  }

  #sendOn(body: Body): void {
    const { stream, bytes } = body;
    while (body.sent < bytes.length) {
      const room = Math.min(this.#frameBytes, this.#windowBytes, body.windowBytes);
      if (room <= 0) return;
      const chunk = bytes.subarray(body.sent, body.sent + room);
      body.sent += chunk.length;
      body.windowBytes -= chunk.length;
      this.#windowBytes -= chunk.length;
      this.#writeData(stream, chunk, body.sent === bytes.length ? FLAG.endStream : 0);
    }
    this.#unsent.delete(stream);
  }

  #writeData(stream: number, chunk: Buffer, flags: number): void {
    if (chunk.length <= COPIED_BYTES) {
      this.#write(encodeFrame(FRAME.data, flags, stream, chunk));
      return;
    }
    const head = Buffer.allocUnsafe(FRAME_HEAD_BYTES);
    writeFrameHead(head, { length: chunk.length, type: FRAME.data, flags, stream });
    this.#write(head);
    this.#write(chunk);
  }
}
