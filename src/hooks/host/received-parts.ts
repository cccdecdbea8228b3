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
import { CancelSource, unlessAborted } from "../../platform/async/cancel-source.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";
import { PartCredit } from "../../platform/threads/part-window.ts";
import type { PartReceiver, RpcClient, RpcResponse } from "../../platform/threads/rpc-client.ts";
import { readHookAnswer } from "./parse-hook-messages.ts";

/** A request whose answer comes in parts from a hook thread. */
interface ReceivedPartsOptions {
  readonly request: InferRequest;
  readonly served: ServedVersion;
  readonly sink: PartSink;
  /** The connection to the thread, which gets credit for the parts that were taken. */
  readonly client: Pick<RpcClient, "credit">;
}

/** The answers of one thread that come in parts. */
export class HookStreams {
  readonly #open = new Set<ReceivedParts>();
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
   * Runs a request whose answer comes in parts; settles only once all that came were written, or cannot be any more.
   * `ask` settles with the thread's last answer.
   */
  async run(options: ReceivedPartsOptions, ask: (parts: ReceivedParts) => Promise<unknown>): Promise<InferResponse> {
    const parts = new ReceivedParts(options, () => {
      this.#begun++;
      this.#onBegun();
    });
    this.#open.add(parts);
    try {
      await ask(parts).finally(() => {
        this.#open.delete(parts);
        if (parts.count > 0) this.#begun--;
      });
      await parts.written();
      return endOfParts(options.served, options.request, parts.count);
    } catch (reason) {
      // Those that came before the failure stand.
      await parts.written();
      throw reason;
    } finally {
      parts.release();
    }
  }

  /** Ends those under way with an error: their hooks were replaced. */
  end(): void {
    for (const { source } of this.#open) source.abort(replaced());
  }
}

function replaced(): ServingError {
  return new ServingError(
    "unavailable",
    "The hooks were replaced while the answer was under way; send the request again.",
  );
}

interface ReceivedPart {
  readonly part: InferResponse;
  readonly bytes: number;
}

/**
 * Writes the parts that a hook thread sends to the request's sink, one after the other. Those that are not written yet
 * count as the request's memory.
 */
export class ReceivedParts implements PartReceiver {
  /** Aborts with the request, or with the reason why its parts cannot be written. */
  readonly source = new CancelSource();
  readonly #options: ReceivedPartsOptions;
  readonly #onFirst: () => void;
  readonly #waiting: ReceivedPart[] = [];
  readonly #stopWatching: () => void;
  #credit: PartCredit | undefined;
  #count = 0;
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;

  /** Calls back when the first part comes. */
  constructor(options: ReceivedPartsOptions, onFirst: () => void) {
    this.#options = options;
    this.#onFirst = onFirst;
    const { signal } = options.request.call;
    const abort = () => this.source.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    this.#stopWatching = () => signal.removeEventListener("abort", abort);
    if (signal.aborted) abort();
  }

  /** Number of parts that came. */
  get count(): number {
    return this.#count;
  }

  take(received: RpcResponse, id: number): void {
    const { request, client } = this.#options;
    const part = this.#read(received);
    const bytes = payloadBytes(part.outputs);
    this.#credit ??= new PartCredit((parts, sum) => client.credit(id, parts, sum));
    this.#credit.came(bytes);
    if (this.#count++ === 0) this.#onFirst();
    try {
      request.call.memory?.grow(bytes);
    } catch (reason) {
      this.source.abort(reason);
      return;
    }
    this.#waitingBytes += bytes;
    this.#waiting.push({ part, bytes });
    this.#writing ??= this.#writeAll();
  }

  /** Resolves once every part that came was written; rejects with the reason why one was not, or the request's end. */
  async written(): Promise<void> {
    if (this.#writing !== undefined) await unlessAborted(this.#writing, this.source);
    if (this.source.aborted) throw this.source.reason;
  }

  /** Gives back the memory of the parts that are not written. */
  release(): void {
    this.#stopWatching();
    this.#waiting.length = 0;
    this.#shrink(this.#waitingBytes);
  }

  #read(received: RpcResponse): InferResponse {
    const { request, served } = this.#options;
    try {
      return toAnswer(served, request, readHookAnswer(request.inputs.kind, received, undefined));
    } catch (cause) {
      if (cause instanceof MalformedMessage) throw cause;
      throw new MalformedMessage("it has a part that cannot be read", { cause });
    }
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        await this.#options.sink.write(next.part);
        this.#shrink(next.bytes);
        this.#credit?.took(next.bytes);
      }
    } catch (reason) {
      this.source.abort(ServingError.from(reason));
    } finally {
      this.#writing = undefined;
    }
  }

  /** After its end, the request's memory is not counted here any more. */
  #shrink(bytes: number): void {
    const least = Math.min(bytes, this.#waitingBytes);
    this.#waitingBytes -= least;
    if (least > 0) this.#options.request.call.memory?.shrink(least);
  }
}
