import type { FrameHead } from "./frame-reader.ts";
import {
  ConnectionError,
  DEFAULT_WINDOW_BYTES,
  ERROR,
  FLAG,
  MAX_PAYLOAD_BYTES,
  MAX_WINDOW_BYTES,
  SETTING,
} from "./protocol.ts";
import type { SessionLimits } from "./session-limits.ts";
import type { SessionStream } from "./session-stream.ts";
import type { SessionWriter } from "./session-writer.ts";

/** Bytes of one parameter: a number of 16 bits, and its value of 32. */
const PARAMETER_BYTES = 6;
/** Parameters of one frame: each window is one look at all streams (CVE-2020-11080). */
const MAX_PARAMETERS = 32;
/** The largest payload that may be allowed is one byte less (RFC 9113 §6.5.2). */
const PAYLOAD_LIMIT_BYTES = 2 ** 24;

/** The payload of this side's SETTINGS. */
export function toSettings(limits: SessionLimits): Buffer {
  const parameters = [
    [SETTING.maxConcurrentStreams, limits.maxConcurrentStreams],
    [SETTING.initialWindowSize, limits.streamWindowBytes],
    [SETTING.maxHeaderListSize, limits.maxHeaderBytes],
  ] as const;
  const payload = Buffer.allocUnsafe(PARAMETER_BYTES * parameters.length);
  parameters.forEach(([name, value], index) => {
    payload.writeUInt32BE(value, payload.writeUInt16BE(name, PARAMETER_BYTES * index));
  });
  return payload;
}

/** The other side's settings, and what follows from a change of them (RFC 9113 §6.5.2, §6.9.2). */
export class PeerSettings {
  /** Bytes that may be sent on a new stream. */
  initialWindow = DEFAULT_WINDOW_BYTES;
  haveCome = false;
  /** Streams that may be open at a time; until it has said so, as many as a server takes at least. */
  maxStreams = 100;
  readonly #writer: SessionWriter;
  readonly #streams: () => Iterable<SessionStream>;

  /** `streams`: those whose windows change with the initial one. */
  constructor(writer: SessionWriter, streams: () => Iterable<SessionStream>) {
    this.#writer = writer;
    this.#streams = streams;
  }

  /** Applies a frame of settings; returns false for one that acknowledges ours. Throws a ConnectionError. */
  take({ flags, id, length }: FrameHead, bytes: Buffer, start: number): boolean {
    if (id !== 0) throw new ConnectionError(ERROR.protocol, "SETTINGS with a stream");
    const isAck = (flags & FLAG.ack) !== 0;
    if (isAck ? length > 0 : length % PARAMETER_BYTES !== 0) {
      throw new ConnectionError(ERROR.frameSize, "SETTINGS has a wrong number of bytes");
    }
    if (isAck) return false;
    if (length > MAX_PARAMETERS * PARAMETER_BYTES) {
      throw new ConnectionError(ERROR.enhanceYourCalm, "too_many_settings");
    }
    if (!this.haveCome) this.maxStreams = Number.POSITIVE_INFINITY;
    for (let at = start; at < start + length; at += PARAMETER_BYTES) {
      this.#set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    }
    this.haveCome = true;
    return true;
  }

  /** Lets more be sent on a stream; returns false if its window becomes too large. */
  widen(stream: SessionStream, bytes: number): boolean {
    stream.sendWindow += bytes;
    if (stream.queue.length > 0 && stream.sendWindow > 0) this.#writer.ready(stream);
    return stream.sendWindow <= MAX_WINDOW_BYTES;
  }

  /** Parameters of unknown names are ignored. */
  #set(name: number, value: number): void {
    if (name === SETTING.headerTableSize) this.#writer.encoder.limitTable(value);
    else if (name === SETTING.initialWindowSize) this.#setWindow(value);
    else if (name === SETTING.maxConcurrentStreams) this.maxStreams = value;
    else if (name === SETTING.enablePush) {
      if (value > 1) throw new ConnectionError(ERROR.protocol, "ENABLE_PUSH is neither 0 nor 1");
    } else if (name === SETTING.maxFrameSize) {
      if (value < MAX_PAYLOAD_BYTES || value >= PAYLOAD_LIMIT_BYTES) {
        throw new ConnectionError(ERROR.protocol, "MAX_FRAME_SIZE is not from 16384 to 16777215");
      }
      this.#writer.maxPayloadBytes = value;
    }
  }

  #setWindow(bytes: number): void {
    if (bytes > MAX_WINDOW_BYTES) throw new ConnectionError(ERROR.flowControl, "INITIAL_WINDOW_SIZE is too large");
    const more = bytes - this.initialWindow;
    this.initialWindow = bytes;
    for (const stream of this.#streams()) {
      if (!this.widen(stream, more)) throw new ConnectionError(ERROR.flowControl, "a window becomes too large");
    }
  }
}
