import { connect, type Socket } from "node:net";
import { HpackDecoder } from "../../src/http2/hpack-decoder.ts";
import { AnswerCheck } from "./answer-check.ts";
import { BodySender } from "./body-sender.ts";
import { FrameSplitter, type OnFrame } from "./frame-splitter.ts";
import { type CallHeaders, encodeCallHeaders } from "./grpc-headers.ts";
import { encodeFrame, encodeGreeting, encodeWindowUpdate, FLAG, FRAME } from "./http2-frames.ts";
import { type Done, failLater, type LoadConnection, type LoadMessage } from "./load-connection.ts";

/** After so many received bytes the server is told that it may send as many again. */
const REFILL_BYTES = 256 * 1024 * 1024;

interface Call {
  readonly check: AnswerCheck;
  readonly done: Done;
}

/** Makes unary calls over one HTTP/2 connection: heeds the server's windows, checks grpc-status and every byte. */
export class GrpcConnection implements LoadConnection {
  readonly #socket: Socket;
  readonly #headers: CallHeaders;
  readonly #calls = new Map<number, Call>();
  readonly #sender = new BodySender((bytes) => this.#write(bytes));
  readonly #prefixed = new Map<Buffer, Buffer>();
  #nextStream = 1;
  #receivedBytes = 0;
  readonly #decoder = new HpackDecoder({ maxBytes: 65_536, maxFields: 100 });
  #isCorked = false;

  constructor(port: number, path: string) {
    this.#headers = encodeCallHeaders(`127.0.0.1:${port}`, path);
    this.#socket = connect(port, "127.0.0.1").setNoDelay();
    const splitter = new FrameSplitter(this.#onFrame);
    this.#socket.on("data", (chunk: Buffer) => splitter.push(chunk));
    this.#socket.on("error", () => this.#failAll("connection error"));
    this.#socket.on("close", () => this.#failAll("connection closed"));
    this.#socket.write(encodeGreeting());
  }

  send({ body, expected }: LoadMessage, done: Done): void {
    if (this.#socket.destroyed) {
      failLater(done);
      return;
    }
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(stream, { check: new AnswerCheck(expected), done });
    const block = stream === 1 ? this.#headers.first : this.#headers.later;
    this.#write(encodeFrame(FRAME.headers, FLAG.endHeaders, stream, block));
    this.#sender.send(stream, this.#prefix(body));
  }

  close(): void {
    this.#calls.clear();
    this.#socket.destroy();
  }

  readonly #onFrame: OnFrame = ({ type, flags, stream }, payload) => {
    const isAck = (flags & FLAG.ack) !== 0;
    if (type === FRAME.data) this.#onData(stream, payload);
    else if (type === FRAME.headers) this.#onHeaders(stream, flags, payload);
    else if (type === FRAME.windowUpdate) this.#sender.widen(stream, payload.readUInt32BE());
    else if (type === FRAME.settings && !isAck) this.#onSettings(payload);
    else if (type === FRAME.ping && !isAck) this.#write(encodeFrame(FRAME.ping, FLAG.ack, 0, payload));
    else if (type === FRAME.reset) this.#end(stream, `stream reset ${payload.readUInt32BE()}`);
  };

  #onData(stream: number, payload: Buffer): void {
    this.#receivedBytes += payload.length;
    if (this.#receivedBytes >= REFILL_BYTES) {
      this.#write(encodeWindowUpdate(0, this.#receivedBytes));
      this.#receivedBytes = 0;
    }
    this.#calls.get(stream)?.check.add(payload);
  }

  /** The headers that end a stream carry the status. */
  #onHeaders(stream: number, flags: number, block: Buffer): void {
    const { fields } = this.#decoder.decode(block, 0, block.length);
    if ((flags & FLAG.endStream) === 0) return;
    const status = fields.find(({ name }) => name === "grpc-status")?.value;
    if (status !== "0") this.#end(stream, `grpc-status ${status}`);
    else this.#end(stream, this.#calls.get(stream)?.check.isRight() ? undefined : "wrong answer");
  }

  #onSettings(settings: Buffer): void {
    this.#write(encodeFrame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0)));
    this.#sender.configure(settings);
  }

  #end(stream: number, problem: string | undefined): void {
    const call = this.#calls.get(stream);
    this.#calls.delete(stream);
    this.#sender.forget(stream);
    call?.done(problem);
  }

  #failAll(problem: string): void {
    for (const stream of this.#calls.keys()) this.#end(stream, problem);
  }

  #prefix(message: Buffer): Buffer {
    const known = this.#prefixed.get(message);
    if (known !== undefined) return known;
    const prefixed = withGrpcPrefix(message);
    this.#prefixed.set(message, prefixed);
    return prefixed;
  }

  /** Everything of one turn of the event loop leaves in one system call. */
  #write(bytes: Buffer): void {
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(this.#uncork);
    }
    this.#socket.write(bytes);
  }

  readonly #uncork = () => {
    this.#isCorked = false;
    this.#socket.uncork();
  };
}

/** A message as gRPC puts it on a stream: not compressed, then its length. */
export function withGrpcPrefix(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
