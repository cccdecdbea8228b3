/** Frame types of RFC 9113, section 6. */
export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
/** Flags of frames; the same bit is END_STREAM for data and ACK for settings. */
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4 } as const;
/** Settings of section 6.5.2. */
export const SETTING = { headerTableSize: 1, initialWindowSize: 4, maxFrameSize: 5 } as const;

export const FRAME_HEAD_BYTES = 9;
const MAX_WINDOW_BYTES = 2 ** 31 - 1;
export const DEFAULT_WINDOW_BYTES = 65_535;
export const DEFAULT_FRAME_BYTES = 16_384;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A whole frame. */
export function encodeFrame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  writeFrameHead(frame, { length: payload.length, type, flags, stream });
  frame.set(payload, FRAME_HEAD_BYTES);
  return frame;
}

/** The first nine bytes of a frame. */
export interface FrameHead {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

/** Writes a frame's head to the start of a buffer. */
export function writeFrameHead(target: Buffer, { length, type, flags, stream }: FrameHead): void {
  target.writeUIntBE(length, 0, 3);
  target[3] = type;
  target[4] = flags;
  target.writeUInt32BE(stream, 5);
}

/** Says that `bytes` more may be sent on a stream, or, for stream 0, on the connection. */
export function encodeWindowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(bytes);
  return encodeFrame(FRAME.windowUpdate, 0, stream, payload);
}

/**
 * First frames of a client. Its windows never fill, so that only the server's count; its header table is empty, so that
 * equal answers have equal header blocks, which can be read without a decoder.
 */
export function encodeGreeting(): Buffer {
  const settings = Buffer.alloc(12);
  settings.writeUInt16BE(SETTING.headerTableSize, 0);
  settings.writeUInt16BE(SETTING.initialWindowSize, 6);
  settings.writeUInt32BE(MAX_WINDOW_BYTES, 8);
  const window = encodeWindowUpdate(0, MAX_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
  return Buffer.concat([PREFACE, encodeFrame(FRAME.settings, 0, 0, settings), window]);
}
