import type { RawFacts } from "../hooks/raw-entry.ts";
import type { ChosenSignature } from "../tensor/signature/choose-signature.ts";
import type { CallOptions } from "./call-options.ts";
import type { Payload } from "./payload.ts";

/** One request to a version of a model: the same object from a protocol's decoder to the pipeline. */
export interface InferRequest {
  readonly signature: ChosenSignature;
  /** Transferred: large tensors may be moved to another thread, and are empty here afterwards. */
  readonly inputs: Payload;
  /** Output names wanted, which must be in the signature if it lists its outputs; absent = all. */
  readonly outputs?: readonly string[] | undefined;
  /**
   * Operations to run in addition, if inputs and outputs are those of the model's graph, by tensor names; absent =
   * they are those of the signature. Only for one model without hooks that runs parts of its graph.
   */
  readonly targets?: readonly string[] | undefined;
  /** The function of the hook file that gets the bytes of {@link RAW_BODY} in place of the pipeline. */
  readonly raw?: RawHead | undefined;
  /** Takes the parts of an answer in parts; absent = the wire takes one answer. */
  readonly parts?: PartSink | undefined;
  readonly call: CallOptions;
}

/** A version of a model. */
export interface ServedVersion {
  readonly model: string;
  readonly version: bigint;
}

/** Name of the only tensor of a request with a {@link RawHead}, and of its answer: the body's bytes. */
export const RAW_BODY = "body";

/** A call of a function of a hook file, with what it gets besides the body. */
export interface RawHead {
  /** Its name: `POST /score`. */
  readonly entry: string;
  readonly facts: RawFacts;
}

/** The answer to a request: the same object from the pipeline to a protocol's encoder. */
export interface InferResponse extends ServedVersion {
  /** The signature that ran, resolved. */
  readonly signature: string;
  /** Of the same kind as the request's inputs. */
  readonly outputs: Payload;
  /** gRPC metadata or HTTP headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  /** A content type that a hook chose for an HTTP answer of one output. */
  readonly contentType?: string | undefined;
  /** HTTP status of the answer to a request with {@link InferRequest.raw}. */
  readonly status?: number | undefined;
  /**
   * Number of parts that {@link InferRequest.parts} was given, 0 or more: this is only their end then, without
   * outputs. Absent = this is the answer, and no part was written.
   */
  readonly parts?: number | undefined;
}

/** Takes the parts of one answer one after the other, on a wire that can carry parts. */
export interface PartSink {
  /**
   * Takes the next part; called again only once the promise before has resolved. Resolves when there is room for
   * another one: the part's buffers are the writer's again then, so that what still has to be sent was encoded or
   * copied. Rejects if no more can be sent, for example since the client is gone; nothing is written then.
   */
  write(part: InferResponse): Promise<void>;
  /**
   * Told now and then, while others wait for a place that the answer holds, so that a reader that is slow may be ended;
   * absent = it makes no difference.
   */
  crowded?(): void;
}

/**
 * Takes the parts of an answer that no client waits for, each in a turn of its own: an endless generator must not keep
 * its thread from everything else.
 */
export const UNREAD_PARTS: PartSink = { write: () => new Promise((resolve) => setImmediate(resolve)) };

/** The members of an answer that hooks and models make. */
export interface Made extends Pick<InferResponse, "outputs" | "contentType" | "status"> {
  readonly metadata?: InferResponse["metadata"] | undefined;
}

const NO_METADATA: InferResponse["metadata"] = Object.freeze({});

/** Makes the answer of a version to a request. */
export function toAnswer(
  { model, version }: ServedVersion,
  { signature: { name: signature } }: Pick<InferRequest, "signature">,
  { outputs, metadata = NO_METADATA, contentType, status }: Made,
): InferResponse {
  return { model, version, signature, outputs, metadata, contentType, status };
}

/** The end of an answer in so many parts, all of which were written. */
export function endOfParts(
  served: ServedVersion,
  request: Pick<InferRequest, "signature" | "inputs">,
  parts: number,
): InferResponse {
  return { ...toAnswer(served, request, { outputs: NO_OUTPUTS[request.inputs.kind] }), parts };
}

const NO_OUTPUTS: { readonly [Kind in Payload["kind"]]: Payload } = {
  tensors: { kind: "tensors", tensors: {} },
  json: { kind: "json", json: new Uint8Array(0) },
};
