import type { Socket } from "node:net";
import { FloodLimits } from "./allowance.ts";
import { uint32s } from "./frame-output.ts";
import { type FrameHead, FrameReader, type FrameSink } from "./frame-reader.ts";
import { HeaderBlock } from "./header-block.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import type { SentHeaders } from "./hpack-encoder.ts";
import { readTrailers } from "./message-head.ts";
import { PacedInput } from "./paced-input.ts";
import { DEFAULT_WINDOW_BYTES, ERROR, FLAG, FRAME, PREFACE, SETTING } from "./protocol.ts";
import { ReceiveWindow } from "./receive-window.ts";
import type { SessionLimits } from "./session-limits.ts";
import { PeerSettings } from "./session-settings.ts";
import { SessionStream, type StreamOwner } from "./session-stream.ts";
import { SessionWriter } from "./session-writer.ts";

type WindowLimits = Pick<SessionLimits, "streamWindowBytes" | "connectionWindowBytes" | "maxConnectionWindowBytes">;

const NOTHING = Buffer.alloc(0);
const UNLIMITED = Number.POSITIVE_INFINITY;

/** Takes the headers of an answer, each name followed by its value; `isAll`: nothing follows. Never throws. */
type TakeHead = (raw: readonly string[], isAll: boolean) => void;

/** The client's side of a call: its request is sent as a server sends an answer, and the answer is received as data. */
class ClientStream extends SessionStream<ClientSession> {
  /** The session's own: undefined once the headers have come. */
  takeHead: TakeHead | undefined;

  /** The request has been sent; the answer may still come. */
  protected override finish(): void {}
}

/**
 * One HTTP/2 connection on the client's side, to a server that is trusted: what it sends is neither limited nor checked
 * further than it must be to be read.
 */
export class ClientSession implements FrameSink, StreamOwner {
  /** True once no more calls can be begun. */
  closed = false;
  readonly #socket: Socket;
  readonly #limits: WindowLimits;
  readonly #streams = new Map<number, ClientStream>();
  readonly #writer: SessionWriter;
  readonly #settings: PeerSettings;
  readonly #window = new ReceiveWindow(DEFAULT_WINDOW_BYTES);
  readonly #decoder = new HpackDecoder({ maxBytes: UNLIMITED, maxFields: UNLIMITED });
  readonly #paced: PacedInput;
  #nextId = 1;
  #block: HeaderBlock | undefined;
  #dataOf: ClientStream | undefined;
  #endsStream = false;

  constructor(socket: Socket, limits: WindowLimits) {
    this.#socket = socket;
    this.#limits = limits;
    this.#writer = new SessionWriter(socket, new FloodLimits(), { ended: () => {} });
    this.#settings = new PeerSettings(this.#writer, () => this.#streams.values());
    // An error also closes it.
    socket.on("error", () => {});
    socket.once("close", () => this.#closed());
    socket.write(PREFACE);
    this.#writer.send(FRAME.settings, 0, 0, toSettings(limits.streamWindowBytes));
    this.#grant(this.#window.widen(limits.connectionWindowBytes));
    const reader = new FrameReader(this);
    this.#paced = new PacedInput(socket, (bytes, at) => this.#read(reader, bytes, at));
  }

  /** True if the server takes one more call at present. */
  get hasRoom(): boolean {
    return this.#streams.size < this.#settings.maxStreams;
  }

  /** Begins a call. Throws a TypeError for headers that cannot be sent. */
  request(headers: SentHeaders, takeHead: TakeHead): ClientStream {
    const receive = new ReceiveWindow(this.#limits.streamWindowBytes);
    const stream = new ClientStream(this, this.#nextId, { send: this.#settings.initialWindow, receive });
    stream.takeHead = takeHead;
    stream.respond(headers);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /** Begins no more calls; ends the connection after the last one. */
  close(): void {
    this.closed = true;
    if (this.#streams.size === 0) this.#writer.whenSent(() => this.#socket.end());
  }

  // A stream's needs.

  ready(stream: SessionStream): void {
    this.#writer.ready(stream);
  }

  reset(stream: SessionStream, code: number): void {
    if (!this.#streams.has(stream.id)) {
      // Its answer has come whole, but may not have been taken.
      stream.abort(code);
      return;
    }
    // A stream that the server does not know yet cannot be reset.
    if (stream.headersToSend === undefined) this.#writer.send(FRAME.reset, 0, stream.id, uint32s(code));
    this.#abort(stream, code);
  }

  taken(stream: SessionStream, bytes: number): void {
    this.#takenOfAll(bytes);
    if (stream.isRemoteEnded || stream.isOver) return;
    const granted = stream.receiveWindow.take(bytes);
    if (granted > 0) this.#writer.send(FRAME.windowUpdate, 0, stream.id, uint32s(granted));
  }

  #takenOfAll(bytes: number): void {
    this.#grant(this.#window.take(bytes) + this.#window.relieve(this.#limits.maxConnectionWindowBytes));
  }

  #grant(bytes: number): void {
    if (bytes > 0) this.#writer.send(FRAME.windowUpdate, 0, 0, uint32s(bytes));
  }

  // Received frames.

  takeFrame(frame: FrameHead, bytes: Buffer, start: number, end: number): void {
    const { type, flags, id } = frame;
    if (type === FRAME.headers || type === FRAME.continuation) this.#takeHeaders(frame, bytes, start, end);
    else if (type === FRAME.windowUpdate) this.#widen(id, bytes.readUInt32BE(start));
    else if (type === FRAME.reset) this.#abort(this.#streams.get(id), bytes.readUInt32BE(start));
    else if (type === FRAME.goaway) this.#leave(bytes.readUInt32BE(start));
    else if (type === FRAME.settings) {
      if (this.#settings.take(frame, bytes, start)) this.#writer.send(FRAME.settings, FLAG.ack, 0, NOTHING);
    } else if (type === FRAME.ping && (flags & FLAG.ack) === 0) {
      this.#writer.send(FRAME.ping, FLAG.ack, 0, bytes.subarray(start, end));
    }
  }

  beginData({ id, flags, length }: FrameHead, paddingBytes: number): void {
    const stream = this.#streams.get(id);
    this.#dataOf = stream;
    this.#endsStream = (flags & FLAG.endStream) !== 0;
    this.#window.receive(length);
    this.#grant(this.#window.relieve(this.#limits.maxConnectionWindowBytes));
    stream?.receiveWindow.receive(length);
    if (stream !== undefined) this.taken(stream, paddingBytes);
    else this.#takenOfAll(paddingBytes);
  }

  takeData(bytes: Buffer, start: number, end: number): void {
    const stream = this.#dataOf;
    if (stream === undefined || stream.isOver) this.#takenOfAll(end - start);
    else stream.receive(bytes, start, end);
  }

  endData(): void {
    if (this.#endsStream && this.#dataOf !== undefined) this.#complete(this.#dataOf);
  }

  #takeHeaders({ type, id, flags }: FrameHead, bytes: Buffer, start: number, end: number): void {
    this.#block ??= new HeaderBlock(id, flags, UNLIMITED);
    const block = this.#block;
    const isFirst = type === FRAME.headers;
    const isPadded = isFirst && (flags & FLAG.padded) !== 0;
    const hasPriority = isFirst && (flags & FLAG.priority) !== 0;
    const from = start + (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
    block.add(bytes, from, isPadded ? end - (bytes[start] as number) : end);
    if ((flags & FLAG.endHeaders) === 0) return;
    this.#block = undefined;
    const list = this.#decoder.decode(block.bytes, 0, block.length);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    const isAll = (block.flags & FLAG.endStream) !== 0;
    const { takeHead } = stream;
    stream.takeHead = undefined;
    takeHead?.(
      list.fields.flatMap(({ name, value }) => [name, value]),
      isAll,
    );
    if (isAll) this.#complete(stream, takeHead === undefined ? readTrailers(list) : undefined);
  }

  #widen(id: number, bytes: number): void {
    if (id === 0) this.#writer.widen(bytes);
    const stream = this.#streams.get(id);
    if (stream !== undefined) this.#settings.widen(stream, bytes);
  }

  /** The answer has come whole: what is left of the request is not wanted. */
  #complete(stream: ClientStream, trailers?: ReturnType<typeof readTrailers>): void {
    if (!this.#streams.delete(stream.id)) return;
    stream.closed = true;
    stream.queue.length = 0;
    stream.receiveEnd(trailers);
    if (this.closed) this.close();
  }

  #abort(stream: SessionStream | undefined, code: number): void {
    if (stream === undefined || !this.#streams.delete(stream.id)) return;
    stream.isRemoteEnded = true;
    stream.abort(code);
    if (this.closed) this.close();
  }

  /** The server takes no more calls, nor those after a last one. */
  #leave(lastId: number): void {
    this.closed = true;
    for (const stream of [...this.#streams.values()]) if (stream.id > lastId) this.#abort(stream, ERROR.refusedStream);
    this.close();
  }

  #read(reader: FrameReader, bytes: Buffer, at: number): number {
    try {
      return reader.next(bytes, at);
    } catch {
      this.#socket.destroy();
      return bytes.length;
    }
  }

  #closed(): void {
    this.closed = true;
    this.#paced.stop();
    // A server that takes calls has said so first.
    const code = this.#socket.bytesRead === 0 ? ERROR.refusedStream : ERROR.cancel;
    for (const stream of [...this.#streams.values()]) this.#abort(stream, code);
    this.#writer.close();
  }
}

function toSettings(streamWindowBytes: number): Buffer {
  const payload = Buffer.alloc(12);
  payload.writeUInt16BE(SETTING.enablePush, 0);
  payload.writeUInt16BE(SETTING.initialWindowSize, 6);
  payload.writeUInt32BE(streamWindowBytes, 8);
  return payload;
}
