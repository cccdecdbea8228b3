/** Types of frames (RFC 9113 §6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of frames; `ack` belongs to SETTINGS and PING, `endStream` to DATA and HEADERS. */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Codes that say why a stream or a connection ends (RFC 9113 §7). */
export const ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

/** Parameters of SETTINGS (RFC 9113 §6.5.2). */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Bytes of a frame's head: length, type, flags, stream (RFC 9113 §4.1). */
export const HEAD_BYTES = 9;
/** Largest payload that a peer has to accept before it says otherwise, and that this side accepts, in bytes. */
export const MAX_PAYLOAD_BYTES = 16_384;
/** Bytes of a window before a peer says otherwise (RFC 9113 §6.9.2), and the most that it may have (§6.9.1). */
export const DEFAULT_WINDOW_BYTES = 65_535;
export const MAX_WINDOW_BYTES = 2 ** 31 - 1;
/** Bytes with which a client begins every connection (RFC 9113 §3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** A violation that ends the whole connection (RFC 9113 §5.4.1); its message goes to the client as debug data. */
export class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
