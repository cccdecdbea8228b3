import type { FloodLimits } from "./allowance.ts";
import type { FrameHead, FrameSink } from "./frame-reader.ts";
import { HeaderBlock } from "./header-block.ts";
import { type HeaderList, HpackDecoder } from "./hpack-decoder.ts";
import { type RequestHead, readRequestHead, readTrailers } from "./message-head.ts";
import { ConnectionError, ERROR, FLAG, FRAME } from "./protocol.ts";
import type { SessionLimits } from "./session-limits.ts";
import type { SessionStream } from "./session-stream.ts";
import { type EarlyAnswers, ResetStreams } from "./unended-requests.ts";

/** Size from which on late data is that of a client that has more to send, in bytes; less of it is of no use. */
const LEAST_LATE_BYTES = 1024;

/** A session, as far as what it receives concerns it. */
export interface InputTarget {
  readonly streams: ReadonlyMap<number, SessionStream>;
  /** True once no new calls are taken. */
  readonly closed: boolean;
  /** Begins a stream. */
  open(id: number, head: RequestHead, endsStream: boolean): void;
  /** Resets a stream, which may be over already. */
  resetId(id: number, code: number): void;
  /** The client has reset a stream. */
  wasReset(stream: SessionStream, code: number): void;
  /** Frames without streams' content; throws a ConnectionError for one that is wrong. */
  takeControl(frame: FrameHead, bytes: Buffer, start: number): void;
  /** Requests of which data may come after their answers. */
  readonly early: EarlyAnswers;
  /** Counts bytes for the connection's window. */
  received(bytes: number): void;
  /** Grants bytes of the connection's window again. */
  takenOfAll(bytes: number): void;
  /** Grants bytes of a stream's window and the connection's again. */
  taken(stream: SessionStream, bytes: number): void;
}

/** Checks the frames of one connection by RFC 9113, and gives their content to its streams. */
export class SessionInput implements FrameSink {
  readonly #target: InputTarget;
  readonly #limits: SessionLimits;
  readonly #floods: FloodLimits;
  readonly #decoder: HpackDecoder;
  /** The number that a GOAWAY has, of the last stream that was not ignored: it never grows after the first (§6.8). */
  lastTakenId = 0;
  #hasSettings = false;
  /** The number of the last stream that the client has begun. */
  #lastId = 0;
  /** A header block that goes on in the next frame. */
  #block: HeaderBlock | undefined;
  readonly #resets = new ResetStreams();
  /** The stream of the frame of data that is read; undefined = its data is discarded. */
  #dataOf: SessionStream | undefined;
  #endsStream = false;
  #lastList: HeaderList | undefined;
  #lastHead: RequestHead | undefined;

  constructor(target: InputTarget, limits: SessionLimits, floods: FloodLimits) {
    this.#target = target;
    this.#limits = limits;
    this.#floods = floods;
    this.#decoder = new HpackDecoder({ maxBytes: limits.maxHeaderBytes, maxFields: limits.maxHeaders });
  }

  /** Ignores late frames of a stream that was reset before its client had ended it, perhaps by its client. */
  remember(id: number, byClient = false): void {
    this.#resets.add(id, byClient);
  }

  /** True for a stream that both sides have ended, or its client: no frame may be sent on it (RFC 9113 §5.1). */
  isClosed(id: number): boolean {
    return !this.#target.streams.has(id) && !this.#resets.wasResetHere(id);
  }

  takeFrame(frame: FrameHead, bytes: Buffer, start: number, end: number): void {
    this.#checkOrder(frame);
    const { type, id } = frame;
    if (type === FRAME.headers) this.#takeHeaders(frame, bytes, start, end);
    else if (type === FRAME.continuation) this.#takeContinuation(frame, bytes, start, end);
    else if (type === FRAME.reset) this.#takeReset(frame, bytes, start);
    else if (type === FRAME.priority) this.#takePriority(frame, bytes, start);
    else if (type === FRAME.windowUpdate && id !== 0 && this.#isIdle(id)) throw idle(id);
    else this.#target.takeControl(frame, bytes, start);
  }

  /** RFC 9113 §3.4: settings come first; §6.10: no frame interrupts a header block. */
  #checkOrder({ type, flags, id }: FrameHead): void {
    const block = this.#block;
    if (block !== undefined && (type !== FRAME.continuation || id !== block.id)) {
      throw new ConnectionError(ERROR.protocol, "a header block is interrupted");
    }
    if (this.#hasSettings) return;
    if (type !== FRAME.settings || (flags & FLAG.ack) !== 0) {
      throw new ConnectionError(ERROR.protocol, "the first frame is not SETTINGS");
    }
    this.#hasSettings = true;
  }

  // Data (RFC 9113 §6.1).

  beginData(frame: FrameHead, paddingBytes: number): void {
    this.#checkOrder(frame);
    const { length, id } = frame;
    if (id === 0) throw new ConnectionError(ERROR.protocol, "DATA without a stream");
    this.#target.received(length);
    this.#endsStream = (frame.flags & FLAG.endStream) !== 0;
    const stream = this.#openStream(id);
    this.#dataOf = stream;
    const dataBytes = length - paddingBytes;
    const isLateBit = stream === undefined && length < LEAST_LATE_BYTES;
    if (isLateBit || (dataBytes === 0 && !this.#endsStream)) this.#floods.countUseless();
    if (stream === undefined) {
      this.#target.takenOfAll(paddingBytes);
      const code = this.#target.early.late(frame, paddingBytes);
      if (code !== undefined) this.refuse(id, code);
      return;
    }
    if (stream.awaitedBytes !== undefined) stream.awaitedBytes -= dataBytes;
    if (!stream.receiveWindow.receive(length)) this.refuse(id, ERROR.flowControl);
    else if ((stream.awaitedBytes ?? 0) < 0) this.refuse(id, ERROR.protocol);
    if (paddingBytes > 0) this.#target.taken(stream, paddingBytes);
  }

  takeData(bytes: Buffer, start: number, end: number): void {
    const stream = this.#dataOf;
    if (stream === undefined || stream.isOver) this.#target.takenOfAll(end - start);
    else stream.receive(bytes, start, end);
  }

  endData(): void {
    const stream = this.#dataOf;
    this.#dataOf = undefined;
    if (this.#endsStream && stream !== undefined) this.#endRemote(stream);
  }

  /**
   * The stream of a frame that only open streams may have (RFC 9113 §5.1); undefined if the frame is ignored: it is
   * late, or it had its stream reset.
   */
  #openStream(id: number): SessionStream | undefined {
    const stream = this.#target.streams.get(id);
    if (stream !== undefined && !stream.isRemoteEnded) return stream;
    if (stream !== undefined) {
      this.refuse(id, ERROR.streamClosed);
      return undefined;
    }
    if (this.#isIdle(id)) throw idle(id);
    if (!this.#resets.has(id)) throw new ConnectionError(ERROR.streamClosed, `stream ${id} is closed`);
    if (this.#resets.isToBeTold(id)) {
      this.#target.resetId(id, ERROR.streamClosed);
      this.#floods.countUseless();
    }
    if (this.#endsStream) this.#resets.delete(id);
    return undefined;
  }

  /** Streams of even numbers are the server's, which begins none. */
  #isIdle(id: number): boolean {
    return id > this.#lastId || id % 2 === 0;
  }

  /** The request has come whole, if its content-length says so too (RFC 9113 §8.1.1). */
  #endRemote(stream: SessionStream, list?: HeaderList): void {
    if (stream.closed) {
      this.#resets.delete(stream.id);
      return;
    }
    const trailers = list && readTrailers(list);
    const isMalformed = list !== undefined && (trailers === undefined || list.isTooLarge);
    stream.isRemoteEnded = true;
    if (isMalformed || (stream.awaitedBytes ?? 0) > 0) this.refuse(stream.id, ERROR.protocol);
    else stream.receiveEnd(trailers);
  }

  /** Resets a stream because of its client: that may be as much work as a call is. */
  refuse(id: number, code: number): void {
    this.#target.resetId(id, code);
    this.#floods.countReset();
  }

  // Header blocks (RFC 9113 §4.3, §6.2, §6.10).

  #takeHeaders({ flags, id, length }: FrameHead, bytes: Buffer, start: number, end: number): void {
    if (id % 2 === 0) throw new ConnectionError(ERROR.protocol, "HEADERS with a number that is none of a client's");
    const isPadded = (flags & FLAG.padded) !== 0;
    const hasPriority = (flags & FLAG.priority) !== 0;
    const extra = (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
    if (length < extra) throw new ConnectionError(ERROR.frameSize, "HEADERS is too short");
    const blockStart = start + extra;
    const blockEnd = isPadded ? end - (bytes[start] as number) : end;
    if (blockStart > blockEnd) throw new ConnectionError(ERROR.protocol, "padding is longer than its frame");
    // Of a priority that has no effect any more, only this is wrong (RFC 7540 §5.3.1).
    const isOwnParent = hasPriority && (bytes.readUInt32BE(blockStart - 5) & 0x7fffffff) === id;
    if ((flags & FLAG.endHeaders) === 0) {
      if (isOwnParent) throw new ConnectionError(ERROR.protocol, "a stream is its own parent");
      this.#block = new HeaderBlock(id, flags, 2 * this.#limits.maxHeaderBytes);
      this.#block.add(bytes, blockStart, blockEnd);
    } else this.#takeBlock(id, flags, this.#decoder.decode(bytes, blockStart, blockEnd));
    if (isOwnParent && this.#target.streams.has(id)) this.refuse(id, ERROR.protocol);
  }

  #takeContinuation({ flags }: FrameHead, bytes: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined) throw new ConnectionError(ERROR.protocol, "CONTINUATION without a header block");
    block.add(bytes, start, end);
    if ((flags & FLAG.endHeaders) === 0) return;
    this.#block = undefined;
    this.#takeBlock(block.id, block.flags, this.#decoder.decode(block.bytes, 0, block.length));
  }

  #takeBlock(id: number, flags: number, list: HeaderList): void {
    this.#endsStream = (flags & FLAG.endStream) !== 0;
    if (id > this.#lastId) {
      this.#lastId = id;
      this.#begin(id, list);
      return;
    }
    const stream = this.#openStream(id);
    if (stream === undefined) {
      this.#floods.countUseless();
      const isWhole = this.#endsStream && readTrailers(list) !== undefined;
      if (this.#target.early.forget(id) && !isWhole) this.#target.resetId(id, ERROR.protocol);
    } else if (this.#endsStream) this.#endRemote(stream, list);
    else this.refuse(id, ERROR.protocol);
  }

  #begin(id: number, list: HeaderList): void {
    const endsStream = this.#endsStream;
    const { streams, closed } = this.#target;
    // After the GOAWAY that named the last stream, a client knows that this one is not taken (RFC 9113 §6.8).
    if (closed) {
      this.#ignore(id);
      this.#floods.countUseless();
      return;
    }
    this.lastTakenId = id;
    if (streams.size >= this.#limits.maxConcurrentStreams) this.#refuseNew(id, ERROR.refusedStream);
    else if (list.isTooLarge) this.#refuseNew(id, ERROR.enhanceYourCalm);
    else {
      const head = this.#headOf(list);
      if (head === undefined || (endsStream && (head.contentLength ?? 0) > 0)) this.#refuseNew(id, ERROR.protocol);
      else {
        this.#floods.callBegan();
        this.#target.open(id, head, endsStream);
      }
    }
  }

  #headOf(list: HeaderList): RequestHead | undefined {
    if (list !== this.#lastList) {
      this.#lastHead = readRequestHead(list);
      this.#lastList = list;
    }
    return this.#lastHead;
  }

  #refuseNew(id: number, code: number): void {
    this.#ignore(id);
    this.#target.resetId(id, code);
    this.#floods.countUseless();
  }

  #ignore(id: number): void {
    if (!this.#endsStream) this.remember(id);
  }

  #takeReset({ id, length }: FrameHead, bytes: Buffer, start: number): void {
    if (length !== 4) throw new ConnectionError(ERROR.frameSize, "RST_STREAM has not four bytes");
    if (this.#isIdle(id)) throw idle(id);
    const stream = this.#target.streams.get(id);
    if (stream === undefined) {
      if (this.#resets.has(id)) this.remember(id, true);
      this.#target.early.forget(id);
      this.#floods.countUseless();
      return;
    }
    if (!stream.isRemoteEnded) this.remember(id, true);
    stream.isRemoteEnded = true;
    this.#target.wasReset(stream, bytes.readUInt32BE(start));
    // A client that has waited for an answer to begin is no faster than the server.
    if (!stream.headersSent) this.#floods.countReset();
  }

  #takePriority({ id, length }: FrameHead, bytes: Buffer, start: number): void {
    if (id === 0) throw new ConnectionError(ERROR.protocol, "PRIORITY without a stream");
    this.#floods.countUseless();
    if (length !== 5) this.#refusePriority(id, ERROR.frameSize);
    else if ((bytes.readUInt32BE(start) & 0x7fffffff) === id) this.#refusePriority(id, ERROR.protocol);
  }

  /** A stream that is idle or closed may have a priority, but not be reset (RFC 9113 §5.1, §6.4). */
  #refusePriority(id: number, code: number): void {
    if (this.#isIdle(id) || this.isClosed(id)) throw new ConnectionError(code, "PRIORITY is wrong");
    this.refuse(id, code);
  }
}

function idle(id: number): ConnectionError {
  return new ConnectionError(ERROR.protocol, `stream ${id} is idle`);
}
