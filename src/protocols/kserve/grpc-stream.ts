import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import { CancelSource } from "../../async/cancel-source.ts";
import { ServingError, STATUS } from "../../errors.ts";
import { recordOfCall } from "../../grpc/call-records.ts";
import { toGrpcStatus } from "../../grpc/grpc-errors.ts";
import { STREAM_WINDOW_BYTES } from "../../grpc/http2-tuning.ts";
import { takeCallMemory } from "../../grpc/message-intake.ts";
import { fromMetadata } from "../../grpc/metadata-record.ts";
import { abortReason, deadlineOf, type HandlerContext, logFailure, SHUTTING_DOWN } from "../../grpc/unary-handler.ts";
import type { MemoryShare } from "../../limits/memory-budget.ts";
import { RequestRecord } from "../../observability/request-record.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { cutText } from "../../text/cut-text.ts";
import { decodeInferRequest, encodeStreamError, encodeStreamResponse, requestIdOf } from "./grpc-codec.ts";
import { inferKserve } from "./infer-kserve.ts";

type Stream = ServerDuplexStream<Buffer, Buffer>;

/** Requests of one stream at once, until their answers are on their way; the next ones wait in the client. */
const MAX_IN_FLIGHT = 32;
/** Metadata by which a client asks for a gRPC status instead of error messages in the stream. */
const REAL_STATUS = "triton_grpc_error";

/** Answers the requests of a stream as they become ready; a failed one gets a message of its own and the stream goes on. */
export function toInferStreamHandler(
  service: InferenceService,
  options: HandlerContext,
): handleBidiStreamingCall<Buffer, Buffer> {
  return (stream) => new InferStream(stream, service, options).start();
}

/** What belongs to one message of a stream. */
interface MessageScope {
  readonly signal: CancelSource;
  readonly memory: MemoryShare | undefined;
  readonly record: RequestRecord;
}

class InferStream {
  readonly #stream: Stream;
  readonly #service: InferenceService;
  readonly #options: HandlerContext;
  readonly #metadata: Readonly<Record<string, string>>;
  readonly #deadline: number | undefined;
  readonly #memory: MemoryShare | undefined;
  readonly #inFlight = new Set<CancelSource>();
  /** Ends each wait for a message to leave. */
  readonly #sendEnds = new Set<() => void>();
  readonly #record: RequestRecord;
  #hasEnded = false;
  #isOver = false;

  constructor(stream: Stream, service: InferenceService, options: HandlerContext) {
    this.#stream = stream;
    this.#service = service;
    this.#options = options;
    this.#metadata = fromMetadata(stream.metadata);
    this.#deadline = deadlineOf(stream);
    this.#memory = takeCallMemory(stream.metadata)?.share;
    this.#record = recordOfCall(stream.metadata);
    this.#record.messages = 0;
  }

  start(): void {
    const close = this.#options.openCalls.add(() => this.#fail(SHUTTING_DOWN));
    this.#stream.on("data", (message: Buffer) => void this.#take(message));
    this.#stream.on("end", () => {
      this.#hasEnded = true;
      this.#finishWhenDone();
    });
    this.#stream.on("cancelled", () => this.#abort(abortReason(this.#deadline)));
    this.#stream.on("close", () => {
      close();
      this.#memory?.release();
      for (const end of this.#sendEnds) end();
    });
  }

  async #take(message: Buffer): Promise<void> {
    const source = new CancelSource();
    // The message's own, until its answer has left.
    const memory = this.#memory?.split(message.length);
    this.#inFlight.add(source);
    if (this.#inFlight.size >= MAX_IN_FLIGHT) this.#pause();
    const record = this.#openRecord(message);
    const answer = await this.#answer(message, { signal: source, memory, record });
    if (!this.#isOver) await this.#send(answer);
    this.#logAccess(record, answer);
    memory?.release();
    this.#inFlight.delete(source);
    if (this.#isOver) return;
    this.#resume();
    this.#finishWhenDone();
  }

  /** Stops reading; what the client may still send ahead is counted, since it waits in our memory. */
  #pause(): void {
    if (this.#stream.isPaused()) return;
    this.#stream.pause();
    try {
      this.#memory?.grow(STREAM_WINDOW_BYTES);
    } catch (reason) {
      this.#fail(ServingError.from(reason));
    }
  }

  #resume(): void {
    if (!this.#stream.isPaused()) return;
    this.#memory?.shrink(STREAM_WINDOW_BYTES);
    this.#stream.resume();
  }

  /** That of one message: the stream has one of its own, whose id its messages have where they bring none. */
  #openRecord(message: Buffer): RequestRecord {
    const record = new RequestRecord(this.#metadata);
    if (this.#options.access.isOn) record.startTiming();
    record.received(message.length);
    this.#record.messages = (this.#record.messages ?? 0) + 1;
    return record;
  }

  #logAccess(record: RequestRecord, answer: Buffer | ServingError): void {
    if (!record.isTimed) return;
    if (!(answer instanceof ServingError)) record.wrote(answer.length);
    const { failedWith } = record;
    const status = failedWith === undefined ? 0 : STATUS[failedWith].grpc;
    this.#options.access.write(record, {
      protocol: "grpc",
      path: this.#stream.getPath(),
      status,
      code: failedWith ?? "ok",
    });
  }

  /** The message that answers, or the error that ends the stream for a client that asked for real statuses. */
  async #answer(message: Buffer, { signal, memory, record }: MessageScope): Promise<Buffer | ServingError> {
    let id: string | undefined;
    try {
      const request = decodeInferRequest(message, this.#options.maxMessageBytes);
      id = request.id;
      const call = { id: record.id, metadata: this.#metadata, signal, deadline: this.#deadline, memory, record };
      const answer = encodeStreamResponse(await inferKserve(this.#service, request, call), request);
      memory?.setTo(answer.length);
      return answer;
    } catch (reason) {
      logFailure(reason, { rpc: this.#stream.getPath(), record }, this.#options.log);
      const error = ServingError.from(reason);
      return this.#metadata[REAL_STATUS] === "true"
        ? error
        : encodeStreamError(cutText(error.message), id ?? requestIdOf(message));
    }
  }

  /** Resolves once the message has left: who does not read the answers gets no more of them made. */
  async #send(answer: Buffer | ServingError): Promise<void> {
    if (answer instanceof ServingError) {
      this.#fail(answer);
      return;
    }
    await new Promise<void>((resolve) => {
      // A stream that closes forgets what waits to be written.
      this.#sendEnds.add(resolve);
      this.#stream.write(answer, () => {
        this.#sendEnds.delete(resolve);
        resolve();
      });
    });
  }

  #fail(reason: ServingError): void {
    if (this.#isOver) return;
    this.#abort(new DOMException("The stream ended.", "AbortError"));
    this.#stream.emit("error", toGrpcStatus(reason));
  }

  #abort(reason: DOMException): void {
    this.#isOver = true;
    for (const source of this.#inFlight) source.abort(reason);
  }

  #finishWhenDone(): void {
    if (!this.#hasEnded || this.#inFlight.size > 0 || this.#isOver) return;
    this.#isOver = true;
    this.#stream.end();
  }
}
