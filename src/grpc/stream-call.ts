import type { ServerHttp2Stream } from "node:http2";
import type { CallKind } from "../access/caller.ts";
import { ServingError } from "../errors.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import type { Compression } from "../platform/limits/compression.ts";
import type { CallContext } from "./call-context.ts";
import { type FramedMessage, framedBytes } from "./framed-message.ts";
import { GrpcCall } from "./grpc-call.ts";
import type { CallInfo, StreamRoute } from "./grpc-route.ts";
import { type CallEncoding, compressMessage } from "./message-encoding.ts";
import { MessageStream } from "./message-stream.ts";
import { SliceWriter } from "./slice-writer.ts";

/** Rejects a method's wait for messages after its call. */
const STREAM_OVER = new ServingError("cancelled", "The call is over.");

/** A call with any number of messages in both directions. */
export class StreamCall extends GrpcCall {
  protected readonly kind: CallKind;
  readonly #route: StreamRoute;
  readonly #writer: SliceWriter;
  /** Settles once the messages before have been sent: their slices must not mix. Never rejects. */
  #lastWrite: Promise<void> = Promise.resolve();
  #record: RequestRecord | undefined;
  #encoding: CallEncoding = { request: undefined, response: undefined };

  constructor(stream: ServerHttp2Stream, context: CallContext, route: StreamRoute) {
    super(stream, context);
    this.kind = route.kind;
    this.#route = route;
    this.#writer = new SliceWriter(stream, this.guard);
  }

  protected async answer(info: CallInfo, encoding: CallEncoding): Promise<void> {
    this.#encoding = encoding;
    this.#record = info.record;
    const { maxMessageBytes, messageTimeoutMs, clock } = this.context;
    const { maxBytes = maxMessageBytes } = this.#route;
    const end = (error: ServingError) => this.giveUp(error);
    const limits = { maxBytes, memory: this.memory, messageTimeoutMs, clock, end, compression: encoding.request };
    const messages = new MessageStream(this.stream, limits);
    this.source.addEventListener("abort", () => messages.fail(this.source.reason));
    const write = (message: FramedMessage) => this.#write(message);
    const cut = () => {
      if (!this.stream.closed) this.context.sends.cut(this.stream);
    };
    const stopWatch = this.watchPermission();
    try {
      await this.#route.stream({ ...info, path: this.path, messages: this.paced(messages), write, cut });
      this.#finish();
    } finally {
      stopWatch();
      messages.fail(STREAM_OVER);
    }
  }

  /** Messages are sent in the order of the calls, however long the compression of each takes. */
  #write(message: FramedMessage): Promise<void> {
    const { response } = this.#encoding;
    const written = this.#lastWrite.then(() =>
      response === undefined ? this.#send(message) : this.#sendCompressed(message, response),
    );
    this.#lastWrite = written.catch(ignore);
    return written;
  }

  async #sendCompressed(message: FramedMessage, compression: Compression): Promise<void> {
    if (this.isOver) return;
    const memory = this.memory.split(0);
    try {
      await this.#send(await compressMessage(message, compression, memory));
    } finally {
      memory.release();
    }
  }

  async #send(message: FramedMessage): Promise<void> {
    if (this.isOver) return;
    if (!this.stream.headersSent) this.startAnswer({}, this.#encoding);
    this.#record?.wrote(framedBytes(message));
    await this.#writer.write(message);
  }

  #finish(): void {
    if (this.isOver) return;
    if (!this.stream.headersSent) this.startAnswer({}, this.#encoding);
    this.markEnded();
    this.stream.end();
  }
}

function ignore(): void {}
