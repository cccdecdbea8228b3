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
    const { request, served, sink, client } = options;
    const { kind } = request.inputs;
    const parts: ReceivedParts = new PartReader({
      ...{ signal: request.call.signal, memory: request.call.memory, client },
      read: (received) => toAnswer(served, request, readHookAnswer(kind, received, undefined)),
      bytesOf: ({ outputs }) => payloadBytes(outputs),
      write: (part) => sink.write(part),
      onFirst: () => {
        this.#begun++;
        this.#onBegun();
      },
    });
    this.#open.add(parts);
    const asked = ask(parts).finally(() => {
      this.#open.delete(parts);
      if (parts.count > 0) this.#begun--;
    });
    await parts.settle(asked);
    return endOfParts(served, request, parts.count);
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
