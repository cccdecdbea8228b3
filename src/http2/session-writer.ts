import type { Socket } from "node:net";
import type { FloodLimits } from "./allowance.ts";
import { FrameOutput, makeFrame } from "./frame-output.ts";
import { HpackEncoder, type SentHeaders } from "./hpack-encoder.ts";
import { DEFAULT_WINDOW_BYTES, FLAG, FRAME, MAX_PAYLOAD_BYTES, MAX_WINDOW_BYTES } from "./protocol.ts";
import type { SessionStream } from "./session-stream.ts";

/** Bytes that may wait in a socket before no more data is written. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Bytes that only answers to frames of a client that reads nothing can reach; it is cut then. */
const STUCK_BYTES = 4 * MAX_UNSENT_BYTES;
/** Bytes that one stream may send before the others have their turn. */
const QUANTUM_BYTES = 256 * 1024;

/** Bytes that a turn of the event loop writes in large pieces before others have their turn, and the size of those. */
const TURN_BYTES = 4 * MAX_UNSENT_BYTES;
const LARGE_BYTES = 64 * 1024;

/** The session of a writer. */
interface WriterOwner {
  /** Called with a stream whose end is being sent. */
  ended(stream: SessionStream): void;
}

/** A function to be called, or a stream of which something is being sent, once the system has taken those bytes. */
type WhenSent = (() => void) | SessionStream;

/** Gathers the write of the moment; all connections use it in turn. */
const output = new FrameOutput();

/** Bytes of large writes of this turn, by all connections. */
let turnBytes = 0;

function countLarge(bytes: number): void {
  if (turnBytes === 0) {
    setImmediate(() => {
      turnBytes = 0;
    });
  }
  turnBytes += bytes;
}

/**
 * Sends the frames of one connection: all that a turn of the event loop makes ready in one write, within the windows of
 * streams and connection, and no more than the socket takes.
 */
export class SessionWriter {
  readonly encoder = new HpackEncoder();
  /** Size of the largest payload that the client takes, in bytes. */
  maxPayloadBytes: number = MAX_PAYLOAD_BYTES;
  readonly #socket: Socket;
  readonly #floods: FloodLimits;
  readonly #owner: WriterOwner;
  #window = DEFAULT_WINDOW_BYTES;
  readonly #control: Buffer[] = [];
  #ready: SessionStream[] = [];
  #isScheduled = false;
  /** True if streams were not looked at, since the socket or the write were full. */
  #isCutShort = false;
  /** True once the stream of the moment has its end in a frame that was gathered. */
  #isEndGathered = false;
  #whenSent: WhenSent[] = [];
  /** The same of each write that the socket has not reported as done. */
  readonly #writes: WhenSent[][] = [];

  constructor(socket: Socket, floods: FloodLimits, owner: WriterOwner) {
    this.#socket = socket;
    this.#floods = floods;
    this.#owner = owner;
  }

  /** Sends a frame that no window holds up. */
  send(type: number, flags: number, id: number, payload: Uint8Array): void {
    this.#control.push(makeFrame(type, flags, id, payload));
    this.#schedule();
  }

  /** Sends what a stream has as soon as it may. */
  ready(stream: SessionStream): void {
    if (!stream.isReady) this.#ready.push(stream);
    stream.isReady = true;
    this.#schedule();
  }

  /** Calls back once all is sent that is ready and no window holds up. */
  whenSent(call: () => void): void {
    this.#whenSent.push(call);
    this.#schedule();
  }

  /** Lets more be sent on all streams together; returns false if the window becomes too large. */
  widen(bytes: number): boolean {
    this.#window += bytes;
    if (this.#ready.length > 0) this.#schedule();
    return this.#window <= MAX_WINDOW_BYTES;
  }

  /** Sends all frames that are ready now, in place of the end of this turn's ticks. */
  flush(): void {
    this.#isScheduled = false;
    const socket = this.#socket;
    if (socket.destroyed || socket.writableEnded) return;
    const unsentBytes = socket.writableLength;
    if (unsentBytes > STUCK_BYTES) {
      socket.destroy();
      return;
    }
    for (const frame of this.#control) output.copy(frame);
    this.#control.length = 0;
    this.#isCutShort = unsentBytes > MAX_UNSENT_BYTES;
    if (!this.#isCutShort && this.#ready.length > 0) this.#gatherStreams();
    this.#write();
  }

  /** To be called when the socket has closed: nothing is sent any more. */
  close(): void {
    this.#control.length = 0;
    this.#ready.length = 0;
    const calls = [...this.#writes.splice(0).flat(), ...this.#whenSent.splice(0)];
    callAll(calls);
  }

  /** All that becomes ready in this turn's ticks and microtasks is one write. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Nothing is read between ticks: they may not go on for as long as a client takes all.
    if (turnBytes > TURN_BYTES) setImmediate(flush, this);
    else process.nextTick(flush, this);
  }

  #write(): void {
    const whenSent = this.#whenSent;
    this.#whenSent = [];
    if (output.bytes > 0) {
      if (output.bytes > LARGE_BYTES) countLarge(output.bytes);
      this.#writes.push(whenSent);
      if (!output.writeTo(this.#socket, this.#written)) return;
      // The socket's own report comes in a later tick.
      this.#writes[this.#writes.length - 1] = [];
    }
    callAll(whenSent);
    this.#goOn();
  }

  readonly #written = (): void => {
    callAll(this.#writes.shift() ?? []);
    this.#goOn();
  };

  #goOn(): void {
    const isFull = this.#socket.writableLength > MAX_UNSENT_BYTES;
    if (!isFull && this.#ready.length > 0 && (this.#window > 0 || this.#isCutShort)) this.#schedule();
  }

  /** The streams in turn, as much of each as its windows and its share allow, until it is enough for one write. */
  #gatherStreams(): void {
    const ready = this.#ready;
    const known = ready.length;
    let next = 0;
    for (; next < ready.length && output.bytes <= MAX_UNSENT_BYTES; next++) {
      // Those that were looked at wait for the connection's window.
      if (next >= known && this.#window <= 0) break;
      const stream = ready[next] as SessionStream;
      stream.isReady = false;
      if (stream.closed || this.#gather(stream) || stream.sendWindow <= 0) continue;
      stream.isReady = true;
      ready.push(stream);
    }
    this.#isCutShort = next < ready.length && output.bytes > MAX_UNSENT_BYTES;
    if (next === ready.length) ready.length = 0;
    else ready.splice(0, next);
  }

  /** Returns false if the stream has more to send. */
  #gather(stream: SessionStream): boolean {
    const { interimToSend } = stream;
    if (interimToSend !== undefined) {
      stream.interimToSend = undefined;
      this.#gatherHeaders(interimToSend, stream.id, false);
    }
    // Data and an end wait for the headers that come first.
    if (!stream.headersSent) return true;
    const bytesBefore = output.bytes;
    const isDone = this.#gatherAll(stream);
    if (output.bytes > bytesBefore) {
      stream.openWrites++;
      this.#whenSent.push(stream);
    }
    return isDone;
  }

  #gatherAll(stream: SessionStream): boolean {
    const { queue, headersToSend } = stream;
    this.#isEndGathered = false;
    if (headersToSend !== undefined) {
      stream.headersToSend = undefined;
      this.#isEndGathered = lastPiece(queue) < 0 && endsWithData(stream);
      this.#gatherHeaders(headersToSend, stream.id, this.#isEndGathered);
    }
    if (!this.#gatherData(stream)) return false;
    if (!stream.isEnding) return true;
    stream.sentTrailers = stream.trailersToSend;
    if (stream.sentTrailers !== undefined) this.#gatherHeaders(stream.sentTrailers, stream.id, true);
    else if (!this.#isEndGathered) output.head(0, FRAME.data, FLAG.endStream, stream.id);
    stream.isGiven = true;
    this.#owner.ended(stream);
    return true;
  }

  /** Returns true once all is gathered. */
  #gatherData(stream: SessionStream): boolean {
    const { queue } = stream;
    let quantum = QUANTUM_BYTES;
    let index = 0;
    while (index < queue.length) {
      const item = queue[index] as Uint8Array | (() => void);
      if (typeof item === "function") this.#whenSent.push(item);
      else {
        const bytes = this.#gatherPiece(stream, item, index === lastPiece(queue), quantum);
        if (stream.queueAt > 0 || bytes < 0) {
          quantum -= Math.max(0, bytes);
          if (bytes > 0 && quantum > 0) continue;
          queue.splice(0, index);
          return false;
        }
        quantum -= bytes;
      }
      index++;
    }
    queue.length = 0;
    return true;
  }

  /**
   * Gathers one frame of a piece; returns the number of its bytes, -1 if none may be sent. The stream then is at the
   * piece's next byte, 0 = it has ended.
   */
  #gatherPiece(stream: SessionStream, piece: Uint8Array, isLast: boolean, quantum: number): number {
    const start = stream.queueAt;
    const left = piece.length - start;
    const bytes = Math.min(left, stream.sendWindow, this.#window, this.maxPayloadBytes, quantum);
    if (bytes <= 0 && left > 0) return -1;
    const isWhole = bytes === left;
    this.#isEndGathered = isWhole && isLast && endsWithData(stream);
    output.head(bytes, FRAME.data, this.#isEndGathered ? FLAG.endStream : 0, stream.id);
    output.borrow(piece, start, start + bytes);
    stream.sendWindow -= bytes;
    this.#window -= bytes;
    stream.queueAt = isWhole ? 0 : start + bytes;
    // Frames that are small because the client's window is one are its own fault (CVE-2019-9511).
    if (isWhole || bytes >= 1024) this.#floods.dataSent();
    return bytes;
  }

  #gatherHeaders(headers: SentHeaders, id: number, endsStream: boolean): void {
    const block = this.encoder.encode(headers);
    const most = this.maxPayloadBytes;
    let type: number = FRAME.headers;
    let flags = endsStream ? FLAG.endStream : 0;
    for (let at = 0; at === 0 || at < block.length; at += most) {
      const end = Math.min(block.length, at + most);
      output.head(end - at, type, end === block.length ? flags | FLAG.endHeaders : flags, id);
      output.copy(block.subarray(at, end));
      type = FRAME.continuation;
      flags = 0;
    }
  }
}

function callAll(calls: readonly WhenSent[]): void {
  for (const call of calls) {
    if (typeof call === "function") call();
    else call.written();
  }
}

function flush(writer: SessionWriter): void {
  writer.flush();
}

/** True if no trailers follow what the stream has to send. */
function endsWithData({ isEnding, trailersToSend }: SessionStream): boolean {
  return isEnding && trailersToSend === undefined;
}

/** Index of the last piece of data; a function may follow it. */
function lastPiece(queue: readonly (Uint8Array | (() => void))[]): number {
  const last = queue.length - 1;
  return typeof queue[last] === "function" ? last - 1 : last;
}
