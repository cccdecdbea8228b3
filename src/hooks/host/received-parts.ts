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
import { PartReader } from "../../platform/threads/part-reader.ts";
import type { RpcClient } from "../../platform/threads/rpc-client.ts";
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
  /** Ends of those under way, for hooks that were replaced. */
  readonly #ends = new Set<() => void>();
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
   * `ask` settles with the thread's last answer, which is the only one of a function that gets bytes and gave no parts.
   */
  async run(
    options: ReceivedPartsOptions,
    ask: (parts: ReceivedParts) => Promise<InferResponse>,
  ): Promise<InferResponse> {
    const { request, served, sink, client } = options;
    const { kind } = request.inputs;
    const { signal, limits, memory } = request.call;
    const isRaw = request.raw !== undefined;
    let isReplaced = false;
    const parts: ReceivedParts = new PartReader({
      signal,
      limits,
      memory,
      client,
      read: (received) => toAnswer(served, request, readHookAnswer(kind, received, undefined)),
      bytesOf: ({ outputs }) => payloadBytes(outputs),
      write: (part) => sink.write(part),
      crowded: () => sink.crowded?.(),
      onFirst: () => {
        this.#begun++;
        this.#onBegun();
        if (isReplaced) parts.source.abort(replaced());
      },
    });
    const end = () => {
      isReplaced = true;
      // A function that gets bytes may still give one answer, however long it takes.
      if (parts.count > 0 || !isRaw) parts.source.abort(replaced());
    };
    this.#ends.add(end);
    const asked = ask(parts).finally(() => {
      this.#ends.delete(end);
      if (parts.count > 0) this.#begun--;
    });
    const last = await parts.settle(asked);
    return isRaw && parts.count === 0 ? last : endOfParts(served, request, parts.count);
  }

  /** Ends those under way with an error: their hooks were replaced. */
  end(): void {
    for (const end of this.#ends) end();
  }
}

function replaced(): ServingError {
  return new ServingError(
    "unavailable",
    "The hooks were replaced while the answer was under way; send the request again.",
  );
}
