import type { CancelSignal } from "../platform/async/cancel-source.ts";
import type { ChosenSignature } from "../tensor/signature/choose-signature.ts";
import type { Tensors } from "../tensor/tensor.ts";
import type { ServableDescription } from "./servable-description.ts";

/** A request from a file, to be run without a client. */
export interface RecordedRequest {
  readonly signature: ChosenSignature;
  readonly inputs: Tensors;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[] | undefined;
}

/** A log of a kind whose requests are not run. */
export interface UnusedLog {
  readonly kind: string;
  /** The number of its field. */
  readonly field: number;
}

/** The model that a recorded request is for, as its protocol would resolve it. */
export type RecordedFor = Pick<ServableDescription, "model" | "signatures"> & { readonly signal: CancelSignal };

/**
 * Reads requests from files, in the forms of the protocols. Throws the error with which the protocol would answer such
 * a request.
 */
export interface RecordedRequests {
  /**
   * Reads the requests of a `tensorflow.serving.PredictionLog`. Returns its kind for one that is not run here, and
   * undefined for an empty one.
   */
  readLog(bytes: Uint8Array, target: RecordedFor): Promise<readonly RecordedRequest[] | UnusedLog | undefined>;
  /** Reads JSON of KServe V2 or of TensorFlow Serving's REST API, distinguished by its content. */
  readJson(body: Uint8Array, target: RecordedFor): Promise<RecordedRequest>;
}
