import { ServingError, STATUS } from "../../errors.ts";
import { type FramedMessage, frameBytes, framedBytes } from "../../grpc/framed-message.ts";
import type { GrpcProtocolOptions, StreamExchange, StreamMethod } from "../../grpc/grpc-route.ts";
import { logFailure } from "../../observability/log-failure.ts";
import { RequestRecord } from "../../observability/request-record.ts";
import { createDeferred } from "../../platform/async/promises.ts";
import { decodeInThread, encodeInThread } from "../../platform/codec-host/codec-jobs.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import { STREAM_WINDOW_BYTES } from "../../platform/limits/transport-limits.ts";
import { cutText } from "../../platform/text/cut-text.ts";
import { arrivedCall, type CallOptions, type InferenceService } from "../../serving/inference-service.ts";
import { decodeInferRequestJob, decodeInferRequestQuickly, type GrpcForm, readRequestId } from "./grpc-request.ts";
import { encodeStreamError, frameStreamResponse, frameStreamResponseJob, isLargeResponse } from "./grpc-response.ts";
import { inferKserve } from "./infer-kserve.ts";
import type { KserveAnswer, KserveParts } from "./kserve-answer.ts";
import type { KserveRequest } from "./kserve-request.ts";
import { ERROR_CODES } from "./parameters.ts";

/**
 * Maximum number of open requests of one stream, until their answers have been sent; further ones wait at the client.
 */
export const MAX_IN_FLIGHT = 32;
/** Metadata by which a client asks for a gRPC status instead of error messages in the stream. */
const REAL_STATUS = "triton_grpc_error";

/**
 * Answers the requests of a stream in the order in which they came, as Triton does; a failed one gets an error message,
 * and the stream continues.
 */
export function inferStreamMethod(service: InferenceService, options: GrpcProtocolOptions): StreamMethod {
  return (exchange) => new InferStream(exchange, service, options).run();
}

/** One for all streams, to avoid a stack trace for each. */
const STREAM_OVER = new DOMException("The stream ended.", "AbortError");

/** The place of an answer among those of its stream. */
interface AnswerTurn {
  /** Resolves when every answer before is being written, without those in parts. */
  readonly before: Promise<void>;
  /** To be called when this one is too, or is given up; again without effect. */
  readonly writes: () => void;
}

/** Services for the answer to one request of a stream. */
interface StreamedCall {
  readonly exchange: StreamExchange;
  readonly memory: MemoryShare;
  readonly record: RequestRecord;
  readonly turn: AnswerTurn;
}

/** One request of a stream, on the way of its answer or its parts. */
class StreamedRequest implements KserveParts {
  readonly call: StreamedCall;
  /** The client's own id; undefined = it is not known yet. */
  id: string | undefined;
  /** True if its answer comes in parts, as they are ready: only answers in one have an order among each other. */
  isParted = false;
  #form: GrpcForm | undefined;
  /** The last part: only answers of this process's models are in the record. */
  #written: KserveAnswer | undefined;
  #options: CallOptions | undefined;
  /** True once its last message is known: no part follows that. */
  #isOver = false;

  constructor(call: StreamedCall) {
    this.call = call;
  }

  /** Notes what decides the form of its answer. */
  decoded({ id, form }: KserveRequest<GrpcForm>, options: CallOptions): void {
    this.id = id;
    this.#form = form;
    this.#options = options;
  }

  begin(): void {
    this.isParted = true;
    const { before, writes } = this.call.turn;
    // The next answer still waits for those before this one.
    void before.then(writes);
  }

  async write(part: KserveAnswer): Promise<void> {
    this.#written = part;
    const { exchange, memory, record } = this.call;
    const message = await this.#frame(part, false);
    if (this.#isOver) throw new ServingError("cancelled", "The answer is over; no part follows.");
    const bytes = memory.beyondPart(framedBytes(message));
    memory.grow(bytes);
    try {
      await exchange.write(message);
    } finally {
      memory.shrink(bytes);
    }
    this.#options?.signal.throwIfAborted();
    record.wrote(framedBytes(message));
  }

  /** The message for an answer, or for the end of its parts; undefined = that has none. */
  frameLast(answer: KserveAnswer): FramedMessage | Promise<FramedMessage> | undefined {
    this.#isOver = true;
    return answer.parts !== undefined && this.#form?.tellsEnd !== true ? undefined : this.#frame(answer, true);
  }

  /** A message with an error; if a model was asked, it says that nothing follows. */
  frameError({ message, code: own }: ServingError, id: string): FramedMessage {
    this.#isOver = true;
    const { exchange, record } = this.call;
    const { isAdmitted, model, version } = record;
    const failed = isAdmitted && version !== undefined ? { model, version } : this.#written;
    const code = exchange.metadata[ERROR_CODES] === "true" ? own : undefined;
    return frameBytes(encodeStreamError({ message: cutText(message), id, failed, code }));
  }

  /** Large values are borrowed if the code that gave them does not use them any more. */
  #frame(answer: KserveAnswer, isFinal: boolean): FramedMessage | Promise<FramedMessage> {
    const form = this.#form as GrpcForm;
    const call = this.#options as CallOptions;
    return isLargeResponse(answer, form.encoding)
      ? encodeInThread(frameStreamResponseJob, [answer, form, { isFinal, borrows: true }], call)
      : frameStreamResponse(answer, form, { isFinal, borrows: call.memory?.isWireOnly === true });
  }
}

class InferStream {
  readonly #exchange: StreamExchange;
  readonly #service: InferenceService;
  readonly #options: GrpcProtocolOptions;
  /** Number of requests whose answers have not been sent. */
  #open = 0;
  /** Called when it has become less, or the stream has failed. */
  #wake = () => {};
  /** The error of a request that ends the whole stream. */
  #failure: { readonly reason: unknown } | undefined;
  /** Resolves when the answer to the last request that has come is being written. */
  #lastAnswer = Promise.resolve();

  constructor(exchange: StreamExchange, service: InferenceService, options: GrpcProtocolOptions) {
    this.#exchange = exchange;
    this.#service = service;
    this.#options = options;
    exchange.record.messages = 0;
  }

  /** At its end, every request of the stream ends. */
  async run(): Promise<void> {
    const { messages, signal, memory } = this.#exchange;
    try {
      for await (const message of messages) {
        // It may have ended while the message was waited for.
        this.#assertGoesOn();
        this.#begin(message);
        if (this.#open < MAX_IN_FLIGHT) continue;
        // Meanwhile the client may send ahead into the server's memory.
        memory.grow(STREAM_WINDOW_BYTES);
        await this.#change();
        memory.shrink(STREAM_WINDOW_BYTES);
      }
      while (this.#open > 0) await this.#change();
      this.#assertGoesOn();
    } finally {
      signal.abort(STREAM_OVER);
    }
  }

  /** Resolves when a request has been answered; throws the error that ends the stream. */
  async #change(): Promise<void> {
    this.#assertGoesOn();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#assertGoesOn();
  }

  #assertGoesOn(): void {
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  #begin(message: Uint8Array): void {
    const { promise, resolve: writes } = createDeferred<void>();
    const turn = { before: this.#lastAnswer, writes };
    this.#lastAnswer = promise;
    this.#open++;
    this.#exchange.isWorking = true;
    void this.#take(message, turn);
  }

  #fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#exchange.fail(reason);
    this.#wake();
  }

  /**
   * Resolves once the answer has been sent, so that a client that does not read its answers causes no further ones.
   * Never rejects.
   */
  async #take(message: Uint8Array, turn: AnswerTurn): Promise<void> {
    const memory = this.#exchange.memory.split(message.length);
    const record = this.#openRecord(message);
    const request = new StreamedRequest({ exchange: this.#exchange, memory, record, turn });
    try {
      let last: FramedMessage | undefined;
      try {
        last = await request.frameLast(await this.#infer(message, request));
        memory.setTo(last === undefined ? 0 : framedBytes(last));
      } catch (reason) {
        last = this.#told(reason, message, request);
      }
      if (!request.isParted) await turn.before;
      const written = last && this.#exchange.write(last);
      if (!request.isParted) turn.writes();
      await written;
      record.wrote(last === undefined ? 0 : framedBytes(last));
    } catch (reason) {
      this.#fail(reason);
    } finally {
      if (!request.isParted) turn.writes();
      this.#tellOver(record);
      memory.release();
      this.#exchange.isWorking = --this.#open > 0;
      this.#wake();
    }
  }

  /** The record of one message, separate from the stream's. */
  #openRecord(message: Uint8Array): RequestRecord {
    const { metadata, record: stream } = this.#exchange;
    const record = new RequestRecord(metadata);
    this.#options.observer.begin(record);
    record.route = stream.route;
    record.client = stream.client;
    record.user = stream.user;
    record.settleTrace(true);
    record.received(message.length);
    stream.messages = (stream.messages ?? 0) + 1;
    stream.requestBytes += message.length;
    return record;
  }

  #tellOver(record: RequestRecord): void {
    if (!record.isTimed) return;
    const { failedWith } = record;
    const status = failedWith === undefined ? 0 : STATUS[failedWith].grpc;
    const { path } = this.#exchange;
    this.#options.observer.over(record, { protocol: "grpc", path, status, code: failedWith ?? "ok" });
  }

  #infer(message: Uint8Array, streamed: StreamedRequest): Promise<KserveAnswer> {
    const { maxMessageBytes: maxBytes } = this.#options;
    const request = decodeInferRequestQuickly(message, maxBytes);
    if (request !== undefined) return this.#inferDecoded(request, streamed);
    // Data that is transferred to a thread is no longer readable here, including the id.
    streamed.id = readRequestId(message);
    const given = { message, maxBytes, signal: this.#exchange.signal, memory: streamed.call.memory };
    const decoded = decodeInThread(decodeInferRequestJob, [message, maxBytes], given);
    return decoded.then((one) => this.#inferDecoded(one, streamed));
  }

  #inferDecoded(request: KserveRequest<GrpcForm>, streamed: StreamedRequest): Promise<KserveAnswer> {
    const { metadata, peer, limits, signal } = this.#exchange;
    const { memory, record } = streamed.call;
    const call = arrivedCall(record, peer, { metadata, deadline: limits?.deadline, signal, memory });
    streamed.decoded(request, call);
    const { maxMessageBytes: maxBytes, sharedMemory, settings } = this.#options;
    return inferKserve(this.#service, request, { call, maxBytes, sharedMemory, settings, parts: streamed });
  }

  /**
   * The message that tells an error, if one is still to be sent; throws the one that ends the stream for a client that
   * asked for gRPC statuses.
   */
  #told(reason: unknown, message: Uint8Array, streamed: StreamedRequest): FramedMessage | undefined {
    const { metadata, path, signal } = this.#exchange;
    const { record } = streamed.call;
    const error = ServingError.from(reason);
    record.failedWith = error.code;
    logFailure({ reason, code: error.code, record, path }, this.#options.log);
    // A request that its model has not had ends no stream, in Triton too.
    const isRefusal = !record.isAdmitted && ["invalid_argument", "not_found"].includes(error.code);
    if (metadata[REAL_STATUS] === "true" && !isRefusal) throw error;
    return signal.aborted ? undefined : streamed.frameError(error, streamed.id ?? readRequestId(message));
  }
}
