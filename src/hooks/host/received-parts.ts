import { ServingError } from "../../errors.ts";
import {
  endOfParts,
  type InferRequest,
  type InferResponse,
  type PartSink,
  type ServedVersion,
  toAnswer,
} from "../../pipeline/infer-request.ts";
import { payloadBytes } from "../../pipeline/payload.ts";
import type { CancelSignal } from "../../platform/async/cancel-source.ts";
import type { CallLimits } from "../../platform/limits/call-limits.ts";
import type { MemoryShare } from "../../platform/limits/memory/memory-share.ts";
import { PartReader, type PartReaderOptions } from "../../platform/threads/part-reader.ts";
import type { RpcClient, RpcResponse } from "../../platform/threads/rpc-client.ts";
import { readHookAnswer } from "./parse-hook-messages.ts";

/** A request whose answer comes in parts from a hook thread. */
interface ReceivedPartsOptions {
  readonly request: InferRequest;
  readonly served: ServedVersion;
  readonly sink: PartSink;
  /** The connection to the thread, which gets credit for the parts that were taken. */
  readonly client: Pick<RpcClient, "credit">;
}

/** The parts of one answer of a hook thread. */
export type ReceivedParts = PartReader<InferResponse>;

/** The answers of one thread that come in parts. */
export class HookStreams {
  /** Those under way. */
  readonly #open = new Set<HookAnswer>();
  #begun = 0;
  #onBegun: () => void = () => {};

  /** Number of answers of which a part has come, and not the end. */
  get begun(): number {
    return this.#begun;
  }

  /** Calls back when there is one more of {@link begun}. */
  onBegun(listener: () => void): void {
    this.#onBegun = listener;
  }

  /**
   * Runs a request whose answer may come in parts; settles only once all that came were written, or cannot be any more.
   * `ask` settles with {@link HookAnswer.endOf} the thread's last answer.
   */
  run(options: ReceivedPartsOptions, ask: (answer: HookAnswer) => Promise<InferResponse>): Promise<InferResponse> {
    const answer = new HookAnswer(options, this);
    this.#open.add(answer);
    return answer.parts.settle(ask(answer));
  }

  /** To be called by an answer of which the first part has come. */
  began(): void {
    this.#begun++;
    this.#onBegun();
  }

  /** To be called by an answer of which no part comes any more. */
  ended(answer: HookAnswer): void {
    this.#open.delete(answer);
    if (answer.parts.count > 0) this.#begun--;
  }

  /** Ends those under way with an error: their hooks were replaced. */
  end(): void {
    for (const answer of this.#open) answer.end();
  }
}

/** An answer that may come in parts: no functions with a context, which took most of a kilobyte of each stream. */
export class HookAnswer implements PartReaderOptions<InferResponse> {
  readonly signal: CancelSignal;
  readonly limits: CallLimits | undefined;
  readonly memory: MemoryShare | undefined;
  readonly client: ReceivedPartsOptions["client"];
  readonly parts: ReceivedParts;
  readonly #options: ReceivedPartsOptions;
  readonly #streams: HookStreams;
  #isReplaced = false;

  constructor(options: ReceivedPartsOptions, streams: HookStreams) {
    const { client, request } = options;
    const { signal, limits, memory } = request.call;
    this.signal = signal;
    this.limits = limits;
    this.memory = memory;
    this.client = client;
    this.#options = options;
    this.#streams = streams;
    this.parts = new PartReader<InferResponse>(this);
  }

  read(received: RpcResponse): InferResponse {
    const { request, served } = this.#options;
    return toAnswer(served, request, readHookAnswer(request.inputs.kind, received, undefined));
  }

  bytesOf({ outputs }: InferResponse): number {
    return payloadBytes(outputs);
  }

  write(part: InferResponse): Promise<void> {
    return this.#options.sink.write(part);
  }

  crowded(): void {
    this.#options.sink.crowded?.();
  }

  onFirst(): void {
    this.#streams.began();
    if (this.#isReplaced) this.parts.source.abort(replaced());
  }

  onLast(): void {
    this.#streams.ended(this);
  }

  /** The end of the parts, or the only answer in place of any. */
  endOf(last: InferResponse): InferResponse {
    const { request, served } = this.#options;
    const { count } = this.parts;
    return count === 0 && request.raw !== undefined ? last : endOfParts(served, request, count);
  }

  /** Its hooks were replaced. */
  end(): void {
    this.#isReplaced = true;
    // A function that gets bytes may still give one answer, however long it takes.
    if (this.parts.count > 0 || this.#options.request.raw === undefined) this.parts.source.abort(replaced());
  }
}

function replaced(): ServingError {
  return new ServingError(
    "unavailable",
    "The hooks were replaced while the answer was under way; send the request again.",
  );
}
