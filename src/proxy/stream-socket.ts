import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { cutStream } from "../http2/connection-watch.ts";
import { KeptBytes } from "../http2/kept-bytes.ts";
import type { RequestHead } from "../http2/message-head.ts";
import { ERROR } from "../http2/protocol.ts";
import type { ServerStream } from "../http2/server-session.ts";
import type { MemoryShare } from "../platform/limits/memory/memory-share.ts";
import { turnClientOf } from "../platform/limits/open-connections.ts";
import type { TurnClient } from "../platform/limits/waiting-work.ts";
import { carrierSocketOf } from "../platform/net/node-members.ts";
import { AnswerReader } from "./answer-reader.ts";

/** Bytes of a request that wait here; the client then sends no more than its window. */
const WAITING_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/**
 * A request of HTTP/2 in the form of a connection for `node:http`, which gets it as text of HTTP/1.1, and whose answer
 * goes to the stream: so there is one way for the requests of both versions. It has the addresses of the stream's
 * connection.
 */
export class StreamSocket extends Duplex {
  /** Bytes of an answer of which it is known together that they have gone. */
  static readonly stepBytes = 16 * 1024;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  declare readonly encrypted?: true;
  bytesRead = 0;
  /** Bytes of the answer that the system has taken. */
  sentBytes = 0;
  readonly #stream: ServerStream;
  readonly #head: RequestHead;
  readonly #answer: AnswerReader;
  readonly #isChunked: boolean;
  /** True once what answers has said its last word. */
  #isAnswered = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: ServerStream, head: RequestHead) {
    super({ readableHighWaterMark: WAITING_BYTES });
    const { socket } = stream.session;
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    Object.assign(this, "encrypted" in socket && { encrypted: true });
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
    this.localAddress = localAddress;
    this.localPort = localPort;
    this.#stream = stream;
    this.#answer = new AnswerReader(head.byName[":method"] ?? "");
    const hasBody = !stream.isRemoteEnded || stream.readableLength > 0;
    this.#isChunked = hasBody && head.contentLength === undefined;
    this.#head = head;
    // The request is cancelled at once, though the system may not have taken what was sent.
    stream.once("aborted", () => this.destroy());
    stream.once("close", () => this.#streamClosed());
  }

  /** Gives the request to what listens for data; its head at once, so that this counts as work of the moment. */
  begin(): void {
    const stream = this.#stream;
    this.read(0);
    this.push(requestText(this.#head, this.#isChunked), "latin1");
    stream.receiveInto({ take: (bytes, start, end) => this.#take(bytes, start, end), end: () => this.#takeEnd() });
  }

  /** True for a request that came over HTTP/2. */
  static carries({ socket }: IncomingMessage): boolean {
    return (socket as unknown) instanceof StreamSocket;
  }

  /** The client's connection below a request's: what is known of its certificate belongs to that. */
  static connectionOf(socket: Socket): Socket {
    return (socket as unknown) instanceof StreamSocket
      ? (socket as unknown as StreamSocket).#stream.session.socket
      : socket;
  }

  /** The client with which a request's connection has its turns. */
  static turnClientOf(socket: Socket): TurnClient {
    return turnClientOf(carrierSocketOf(StreamSocket.connectionOf(socket)));
  }

  /** Counts what is kept of the request's body until it is read; a request without room for it is reset. */
  countKept(memory: MemoryShare): void {
    const stream = this.#stream;
    let counted: KeptBytes | undefined;
    const kept = () => {
      counted ??= new KeptBytes(stream, memory);
      try {
        counted.count();
      } catch {
        stream.reset(ERROR.enhanceYourCalm);
      }
    };
    stream.keeper = { kept };
    if (stream.readableLength > 0) kept();
  }

  /** Emits `timeout` once nothing has come or gone for so many milliseconds; 0 = never. */
  setTimeout(ms: number): this {
    clearTimeout(this.#timer);
    this.#timer = ms > 0 && !this.destroyed ? setTimeout(() => this.emit("timeout"), ms).unref() : undefined;
    return this;
  }

  #take(bytes: Buffer, start: number, end: number): void {
    // A chunk without bytes would be the last one; what comes after the last word of the answer has no reader.
    if (start === end || this.writableEnded) return;
    this.bytesRead += end - start;
    this.#timer?.refresh();
    const data = bytes.subarray(start, end);
    const piece = this.#isChunked ? toChunk(data) : Buffer.from(data);
    if (!this.push(piece)) this.#stream.pause();
  }

  /** Not the end of the connection, which would cancel the request. */
  #takeEnd(): void {
    this.#timer?.refresh();
    if (this.#isChunked && !this.writableEnded) this.push(LAST_CHUNK);
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: () => void): void {
    this.#send([bytes], done);
  }

  override _writev(written: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(
      written.map(({ chunk }) => chunk),
      done,
    );
  }

  #send(written: readonly Buffer[], done: () => void): void {
    const stream = this.#stream;
    this.#timer?.refresh();
    const { interim, head, body } = this.#answer.read(written);
    const { isOver } = this.#answer;
    const isOpen = !stream.closed && !stream.isEnding;
    const pieces = body.flatMap(toPieces);
    if (interim !== undefined) stream.inform(interim);
    if (head !== undefined) stream.respond(head);
    const last = pieces.length - 1;
    const isEndAlone = isOpen && isOver && last < 0;
    // Until it has gone, the request counts as one under way.
    if (isEndAlone) stream.write(NOTHING, done);
    pieces.forEach((piece, index) => {
      stream.write(piece, () => {
        this.sentBytes += piece.length;
        this.#timer?.refresh();
        if (index === last) done();
      });
    });
    if (isOver) stream.end();
    if (last < 0 && !isEndAlone) done();
  }

  override _final(done: () => void): void {
    this.#isAnswered = true;
    const { isOver, endsWithConnection } = this.#answer;
    if (endsWithConnection) this.#stream.end();
    else if (!isOver) this.#stream.reset(ERROR.internal);
    done();
    if (this.#stream.destroyed) this.destroy();
  }

  /** The answer may have been sent before what answers knows that it has ended. */
  #streamClosed(): void {
    if (this.#isAnswered) this.destroy();
  }

  /** Calls back once no piece of the answer is used any more. */
  whenTaken(call: () => void): void {
    if (this.#stream.destroyed) call();
    else this.#stream.once("close", call);
  }

  /** Ends the request, and its whole connection if the client does not learn of that. */
  resetAndDestroy(): void {
    cutStream(this.#stream, ERROR.internal);
    this.destroy();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stream.reset(ERROR.internal);
    done(error);
  }
}

/** The head in HTTP/1.1, for a connection of one request. Its fields have no line breaks, its target no blanks. */
function requestText({ byName, raw }: RequestHead, isChunked: boolean): string {
  const { ":method": method, cookie } = byName;
  const authority = byName[":authority"] || undefined;
  // CONNECT has no path.
  let text = `${method} ${byName[":path"] ?? authority} HTTP/1.1\r\n`;
  // It counts in place of Host (RFC 9113 §8.3.1).
  if (authority !== undefined) text += `host: ${authority}\r\n`;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.startsWith(":") || name === "cookie" || (name === "host" && authority !== undefined)) continue;
    text += `${name}: ${raw[at + 1]}\r\n`;
  }
  if (cookie !== undefined) text += `cookie: ${cookie}\r\n`;
  if (isChunked) text += "transfer-encoding: chunked\r\n";
  return `${text}connection: close\r\n\r\n`;
}

function toChunk(data: Buffer): Buffer {
  const size = `${data.length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(size.length + data.length + 2);
  chunk.write(size, "latin1");
  chunk.set(data, size.length);
  chunk.write("\r\n", size.length + data.length, "latin1");
  return chunk;
}

function toPieces(bytes: Buffer): Buffer | Buffer[] {
  const step = StreamSocket.stepBytes;
  if (bytes.length <= step) return bytes;
  const count = Math.ceil(bytes.length / step);
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * step, (index + 1) * step));
}
