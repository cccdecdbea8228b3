import type { CancelSignal } from "../async/cancel-source.ts";
import type { MemoryShare } from "../limits/memory-budget.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import type { Payload } from "../pipeline/payload.ts";
import type { Signature } from "../signature/signature.ts";
import type { ServableStatistics } from "./servable.ts";

/**
 * All that a wire knows of what is served. `serving/` implements it over the catalog of servables,
 * `remote/remote-service.ts` over another server.
 */
export interface InferenceService {
  /** What a reference points at; throws `not_found` for an unknown name or version, `invalid_argument` for an unknown label. */
  describe(ref: ModelRef): Promise<ServableDescription>;
  /** Every name and version there is; empty where a remote server does not tell. */
  index(): readonly ServableState[];
  /** What the requests of every name and version took until now; empty where a remote server does not tell. */
  statistics(): Promise<readonly NamedStatistics[]>;
  /** Loads a model's files as they are now, unless a remote server has it. Throws `not_found` for an unknown name. */
  load(model: string): Promise<void>;
  /** Takes no new requests for a model, finishes those under way and frees it, until it is loaded again. */
  unload(model: string): Promise<void>;
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
  readonly version?: bigint | undefined;
  readonly label?: string | undefined;
}

/** One version of a model, and whether it can answer now. */
export interface ServableState {
  readonly model: string;
  readonly version: bigint;
  readonly isReady: boolean;
  /** Why it is not ready; empty where it is. */
  readonly unavailableReason: string;
}

/** The statistics of one version of a model. */
export interface NamedStatistics extends ServableStatistics {
  readonly model: string;
  readonly version: bigint;
}

/** A resolved {@link ModelRef}. */
export interface ServableDescription {
  readonly model: string;
  readonly version: bigint;
  /** Names of its drivers, in the order of its stages. Empty where a remote server does not tell. */
  readonly drivers: readonly string[];
  /** By name. Empty where a remote server does not tell. */
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Rows that waiting requests are put together to; absent or 0 = they are not, or a remote server does not tell. */
  readonly maxBatchSize?: number;
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
  readonly outputs?: readonly string[] | undefined;
  /** gRPC metadata or HTTP headers, names lower-cased. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Aborts when the client is gone or its deadline passed. */
  readonly signal: CancelSignal;
  /** When the client stops waiting, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** 1 = highest; 0 (default) = none, after all others. */
  readonly priority?: number | undefined;
  /** What the wire counted for the request's body already, and releases at its end; absent = nothing was counted. */
  readonly memory?: MemoryShare | undefined;
  /** Where the log's facts about the request are noted; absent = nowhere. */
  readonly record?: RequestRecord | undefined;
  /** How long it may wait for its turn at each model, in milliseconds; 0 (default) = as long as it takes. */
  readonly queueTimeoutMs?: number | undefined;
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
