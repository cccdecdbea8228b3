import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { FloodLimits } from "./allowance.ts";
import { uint32s } from "./frame-output.ts";
import { type FrameHead, FrameReader } from "./frame-reader.ts";
import type { RequestHead } from "./message-head.ts";
import { PacedInput } from "./paced-input.ts";
import { ConnectionError, DEFAULT_WINDOW_BYTES, ERROR, FLAG, FRAME, MAX_WINDOW_BYTES, PREFACE } from "./protocol.ts";
import { ReceiveWindow } from "./receive-window.ts";
import { type InputTarget, SessionInput } from "./session-input.ts";
import type { SessionLimits } from "./session-limits.ts";
import { PeerSettings, toSettings } from "./session-settings.ts";
import { SessionStream, type StreamOwner } from "./session-stream.ts";
import { SessionWriter } from "./session-writer.ts";
import { EarlyAnswers } from "./unended-requests.ts";

/** A call. */
export type ServerStream = SessionStream<ServerSession>;

/** Time for the reason of a connection's end to reach the client, in milliseconds. */
const LINGER_MS = 500;
const PING_BYTES = 8;
const NOTHING = Buffer.alloc(0);

/** Events of a session, which come once for a connection, and for each call. */
interface SessionEvents {
  stream: [stream: ServerStream, head: RequestHead];
  /** The client has acknowledged the settings, after its own: the connection is set up. */
  acknowledged: [];
  close: [];
}

/** One HTTP/2 connection on the server's side (RFC 9113), over a socket that nothing else uses. */
export class ServerSession extends EventEmitter<SessionEvents> implements InputTarget, StreamOwner {
  readonly socket: Socket;
  readonly streams = new Map<number, ServerStream>();
  readonly early: EarlyAnswers;
  /** True once no new calls are taken. */
  closed = false;
  /** True once the connection has ended, or nothing that it receives is taken any more. */
  destroyed = false;
  /** True until the client has acknowledged the settings. */
  pendingSettingsAck = true;
  readonly #limits: SessionLimits;
  readonly #floods = new FloodLimits();
  readonly #window: ReceiveWindow;
  readonly #settings: PeerSettings;
  readonly #reader: FrameReader;
  readonly #input: SessionInput;
  readonly #paced: PacedInput;
  readonly #writer: SessionWriter;
  /** By their content. */
  readonly #pings = new Map<string, (error: Error | null) => void>();
  #prefaceBytes = 0;
  /** True once the client has said that it is about to leave. */
  #isLeft = false;

  constructor(socket: Socket, limits: SessionLimits) {
    super();
    this.socket = socket;
    this.#limits = limits;
    this.#writer = new SessionWriter(socket, this.#floods, this);
    this.early = new EarlyAnswers(this, this.#writer);
    this.#settings = new PeerSettings(this.#writer, () => [...this.streams.values(), ...this.early.streams()]);
    this.#input = new SessionInput(this, limits, this.#floods);
    this.#reader = new FrameReader(this.#input);
    socket.setNoDelay(true);
    // An error also closes it.
    socket.on("error", () => {});
    socket.once("close", () => this.#closed());
    this.#writer.send(FRAME.settings, 0, 0, toSettings(limits));
    this.#window = new ReceiveWindow(DEFAULT_WINDOW_BYTES);
    this.#grant(this.#window.widen(limits.connectionWindowBytes));
    this.#paced = new PacedInput(socket, (bytes, at) => this.#takeFrame(bytes, at));
  }

  /** Asks the client for a sign of life; returns false if the connection has ended. `done` gets its end as an error. */
  ping(done: (error: Error | null) => void): boolean {
    if (this.destroyed) return false;
    // A client that reads nothing could guess a number.
    const content = randomBytes(PING_BYTES);
    this.#pings.set(content.toString("latin1"), done);
    this.#writer.send(FRAME.ping, 0, 0, content);
    return true;
  }

  /** Asks the client to begin no more calls here; those that are on their way are taken (RFC 9113 §6.8). */
  retire(): void {
    if (!this.closed && !this.destroyed) this.goaway(ERROR.none, MAX_WINDOW_BYTES);
  }

  /** Takes no new calls; ends the connection after the last one. */
  close(): void {
    if (this.closed || this.destroyed) return;
    this.closed = true;
    this.goaway(ERROR.none);
    this.#endIfIdle();
  }

  /** Says that the connection ends, and which stream is the last one that is taken. */
  goaway(code: number, lastId = this.#input.lastTakenId, reason: Uint8Array = NOTHING): void {
    if (this.destroyed) return;
    this.#writer.send(FRAME.goaway, 0, 0, Buffer.concat([uint32s(lastId, code), reason]));
  }

  /** Tells the client why the connection ends, and ends it: for example because it causes too much work. */
  fail(code: number, reason: string): void {
    if (this.destroyed) return;
    this.goaway(code, this.#input.lastTakenId, Buffer.from(reason));
    this.#writer.flush();
    this.destroyed = true;
    this.closed = true;
    this.#paced.stop();
    this.#abortAll(code);
    this.socket.end();
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.destroyed = true;
    this.#paced.stop();
    this.socket.destroy();
  }

  ready(stream: SessionStream): void {
    this.#writer.ready(stream);
  }

  reset(stream: SessionStream, code: number): void {
    if (this.streams.get(stream.id) === stream) this.resetId(stream.id, code);
  }

  taken(stream: SessionStream, bytes: number): void {
    this.takenOfAll(bytes);
    if (stream.closed) this.early.taken(stream.id, bytes);
    if (stream.closed || stream.isRemoteEnded) return;
    const granted = stream.receiveWindow.take(bytes);
    if (granted > 0) this.#writer.send(FRAME.windowUpdate, 0, stream.id, uint32s(granted));
  }

  open(id: number, head: RequestHead, endsStream: boolean): void {
    const receive = new ReceiveWindow(this.#limits.streamWindowBytes);
    const stream = new SessionStream<ServerSession>(this, id, { send: this.#settings.initialWindow, receive });
    stream.awaitedBytes = head.contentLength;
    stream.isRemoteEnded = endsStream;
    this.streams.set(id, stream);
    this.emit("stream", stream, head);
  }

  resetId(id: number, code: number): void {
    const stream = this.streams.get(id);
    this.#writer.send(FRAME.reset, 0, id, uint32s(code));
    this.early.forget(id);
    if (stream === undefined) return;
    this.#forget(stream);
    stream.abort(code);
  }

  resetUnended(id: number): void {
    if (!this.#input.isClosed(id)) this.resetId(id, ERROR.none);
  }

  wasReset(stream: SessionStream, code: number): void {
    this.#forget(stream);
    stream.abort(code);
  }

  received(bytes: number): void {
    if (!this.#window.receive(bytes)) throw new ConnectionError(ERROR.flowControl, "more data than the window allows");
    this.#grant(this.#window.relieve(this.#limits.maxConnectionWindowBytes));
  }

  takenOfAll(bytes: number): void {
    this.#grant(this.#window.take(bytes) + this.#window.relieve(this.#limits.maxConnectionWindowBytes));
  }

  #grant(bytes: number): void {
    if (bytes > 0) this.#writer.send(FRAME.windowUpdate, 0, 0, uint32s(bytes));
  }

  takeControl(frame: FrameHead, bytes: Buffer, start: number): void {
    const { type } = frame;
    if (type === FRAME.windowUpdate) this.#takeWindow(frame, bytes, start);
    else if (type === FRAME.ping) this.#takePing(frame, bytes, start);
    else if (type === FRAME.settings) this.#takeSettings(frame, bytes, start);
    else if (type === FRAME.goaway) this.#takeGoaway(frame);
    else if (type === FRAME.pushPromise) throw new ConnectionError(ERROR.protocol, "a client cannot push");
    else this.#floods.countUseless();
  }

  /** RFC 9113 §6.9. */
  #takeWindow({ id, length }: FrameHead, bytes: Buffer, start: number): void {
    this.#floods.countUseless();
    if (length !== 4) throw new ConnectionError(ERROR.frameSize, "WINDOW_UPDATE has not four bytes");
    const more = bytes.readUInt32BE(start) & MAX_WINDOW_BYTES;
    if (id === 0) {
      if (more === 0) throw new ConnectionError(ERROR.protocol, "WINDOW_UPDATE of nothing");
      if (!this.#writer.widen(more)) throw new ConnectionError(ERROR.flowControl, "the window becomes too large");
      return;
    }
    const stream = this.streams.get(id) ?? this.early.get(id);
    const isClosed = stream === undefined && this.#input.isClosed(id);
    if (isClosed || (more > 0 && (stream === undefined || this.#settings.widen(stream, more)))) return;
    this.#input.refuse(id, more === 0 ? ERROR.protocol : ERROR.flowControl);
  }

  /** RFC 9113 §6.7. */
  #takePing({ flags, id, length }: FrameHead, bytes: Buffer, start: number): void {
    if (id !== 0) throw new ConnectionError(ERROR.protocol, "PING with a stream");
    if (length !== PING_BYTES) throw new ConnectionError(ERROR.frameSize, "PING has not eight bytes");
    if ((flags & FLAG.ack) === 0) {
      this.#floods.countUseless("too_many_pings");
      this.#writer.send(FRAME.ping, FLAG.ack, 0, bytes.subarray(start, start + PING_BYTES));
      return;
    }
    const content = bytes.toString("latin1", start, start + PING_BYTES);
    const done = this.#pings.get(content);
    if (done === undefined) this.#floods.countUseless();
    this.#pings.delete(content);
    done?.(null);
  }

  /** RFC 9113 §6.5. */
  #takeSettings(frame: FrameHead, bytes: Buffer, start: number): void {
    if (this.#settings.haveCome) this.#floods.countUseless();
    if (this.#settings.take(frame, bytes, start)) this.#writer.send(FRAME.settings, FLAG.ack, 0, NOTHING);
    else if (this.pendingSettingsAck) {
      this.pendingSettingsAck = false;
      this.emit("acknowledged");
    }
  }

  /** RFC 9113 §6.8: the client is about to leave; its calls are still answered. */
  #takeGoaway({ id, length }: FrameHead): void {
    if (id !== 0) throw new ConnectionError(ERROR.protocol, "GOAWAY with a stream");
    if (length < 8) throw new ConnectionError(ERROR.frameSize, "GOAWAY is too short");
    this.#floods.countUseless();
    this.#isLeft = true;
    if (this.streams.size === 0) this.close();
  }

  // Reading, and the end.

  #takeFrame(bytes: Buffer, at: number): number {
    try {
      return this.#prefaceBytes < PREFACE.length ? this.#takePreface(bytes, at) : this.#reader.next(bytes, at);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.fail(error.code, error.message);
      return bytes.length;
    }
  }

  #takePreface(bytes: Buffer, at: number): number {
    const before = this.#prefaceBytes;
    const part = Math.min(bytes.length - at, PREFACE.length - before);
    if (PREFACE.compare(bytes, at, at + part, before, before + part) !== 0) {
      throw new ConnectionError(ERROR.protocol, "the connection does not begin as one of HTTP/2");
    }
    this.#prefaceBytes += part;
    return at + part;
  }

  ended(stream: SessionStream): void {
    stream.closed = true;
    this.#forget(stream);
    if (stream.isRemoteEnded) this.#floods.callAnswered();
    else this.early.add(stream);
  }

  #forget(stream: SessionStream): void {
    this.streams.delete(stream.id);
    if (!stream.isRemoteEnded) this.#input.remember(stream.id);
    if (this.closed) this.#endIfIdle();
    else if (this.#isLeft && this.streams.size === 0) process.nextTick(() => this.close());
  }

  #endIfIdle(): void {
    if (this.streams.size > 0 || this.destroyed) return;
    this.#writer.whenSent(() => this.socket.end());
  }

  #closed(): void {
    this.destroyed = true;
    this.closed = true;
    this.#paced.stop();
    this.#abortAll(ERROR.cancel);
    this.#writer.close();
    for (const done of this.#pings.values()) done(new Error("The connection has closed."));
    this.emit("close");
  }

  #abortAll(code: number): void {
    const streams = [...this.streams.values()];
    this.streams.clear();
    for (const stream of streams) stream.abort(code);
  }
}
