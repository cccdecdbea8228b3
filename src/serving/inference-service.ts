import type { Signature } from "../drivers/driver.ts";
import type { Payload } from "../pipeline/payload.ts";

/**
 * All that a wire knows of what is served. `serving/` implements it over the catalog of servables,
 * `grpc/remote-service.ts` over another server.
 */
export interface InferenceService {
  /** What a reference points at; throws `not_found` for an unknown name or version, `invalid_argument` for an unknown label. */
  describe(ref: ModelRef): Promise<ServableDescription>;
  /** Runs one request; throws only {@link ServingError}. */
  infer(request: InferRequest): Promise<InferResponse>;
  /** Whether requests can be answered now. */
  isReady(): boolean;
  /** Calls back at each change of readiness, and once at once; returns how to stop that. */
  onReadiness(listener: (ready: boolean) => void): () => void;
}

/** Which servable a request means. */
export interface ModelRef {
  /** Empty = the only one there is. */
  readonly model: string;
  /** Absent = the highest available version, or the label's. */
  readonly version?: bigint;
  readonly label?: string;
}

/** A resolved {@link ModelRef}. */
export interface ServableDescription {
  readonly model: string;
  readonly version: bigint;
  /** By name. Empty where a remote server does not tell. */
  readonly signatures: Readonly<Record<string, Signature>>;
}

/** One request, the same for every wire. */
export interface InferRequest extends ModelRef {
  /** The client's own id, else one the wire makes. */
  readonly id: string;
  /** Empty = the default signature. */
  readonly signature: string;
  /** Given away: large tensors may be handed to another thread, and are empty here afterwards. */
  readonly inputs: Payload;
  /** Output names wanted; absent = all. */
  readonly outputs?: readonly string[];
  /** gRPC metadata or HTTP headers, names lower-cased. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Aborts when the client is gone or its deadline passed. */
  readonly signal: AbortSignal;
  /** When the client stops waiting, in milliseconds since the epoch. */
  readonly deadline?: number;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number;
  /** How long it may wait for its turn at each model, in milliseconds; 0 (default) = as long as it takes. */
  readonly queueTimeoutMs?: number;
}

/** What came back. */
export interface InferResponse {
  readonly model: string;
  readonly version: bigint;
  /** The signature that ran, resolved. */
  readonly signature: string;
  /** Of the same kind as the request's inputs. */
  readonly outputs: Payload;
  /** gRPC metadata or HTTP headers that hooks set. */
  readonly metadata: Readonly<Record<string, string>>;
  /** A content type that a hook chose for an HTTP answer of one output. */
  readonly contentType?: string;
}

export type { JsonPayload } from "../pipeline/payload.ts";
