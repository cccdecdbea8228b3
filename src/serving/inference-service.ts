import type { CallOptions } from "../pipeline/call-options.ts";
import type { Payload } from "../pipeline/payload.ts";
import type { ChosenSignature } from "../signature/choose-signature.ts";
import type { Signature } from "../signature/signature.ts";
import type { DescribedModel } from "./described-model.ts";
import type { LoadCounts } from "./load-counter.ts";
import type { LoadOverrides } from "./load-overrides.ts";
import type { RecordedKind, RecordedMessage, Recording } from "./request-log.ts";
import type { ServableStatistics } from "./servable.ts";
import type { RoutedRequest } from "./traffic.ts";
import type { VersionStatus } from "./version-status.ts";

/**
 * All that a wire knows of what is served. `serving/` implements it over the catalog of servables,
 * `remote/remote-service.ts` over another server.
 */
export interface InferenceService {
  /**
   * Finds the version that a reference means and keeps it loaded until the lease is released. Throws `not_found` for an unknown
   * name or version, `invalid_argument` for an unknown label. A promise only where the version has to be waited for. With the request that
   * is to be run, one that names no version goes where the model's traffic goes; without, it is only described.
   */
  acquire(ref: ModelRef, request?: RoutedRequest): Lease | Promise<Lease>;
  /** Every name and version that was to be loaded; empty where a remote server does not tell. */
  index(scope?: IndexScope): readonly ServableState[];
  /**
   * Times and counts of the requests of every name and version until now; empty where a remote server does not tell.
   */
  statistics(): Promise<readonly NamedStatistics[]>;
  /** Requests under way now, and at most; absent where another server answers. */
  inFlight?(): RequestCount;
  /** Loads of the versions that {@link index} tells; absent where another server answers. */
  loads?(): readonly LoadCounts[];
  /** Loads a model's files as they are now, unless a remote server has it. Throws `not_found` for an unknown name. */
  load(model: string, overrides?: LoadOverrides): Promise<void>;
  /**
   * Takes no new requests for a model, finishes those under way and frees it, until it is loaded again. Throws `not_found` for an unknown
   * name, `failed_precondition` where other models need it and are not unloaded with it.
   */
  unload(model: string, options?: UnloadOptions): Promise<void>;
  /** Serves these models in place of all others; resolves once each is available, rejects once one has failed and the others are settled. */
  reconfigure(models: readonly DescribedModel[]): Promise<void>;
  /** Looks again at the files of the models and at those that describe them; resolves once what changed is loaded or has failed. */
  lookAgain(): Promise<void>;
  /** Reports if requests can be answered now. */
  isReady(): boolean;
  /** Calls back at each change of readiness, and once at once; returns how to stop that. */
  onReadiness(listener: (ready: boolean) => void): () => void;
}

/** A number of requests, and the most that there may be. */
export interface RequestCount {
  readonly count: number;
  readonly maxCount: number;
}

/** Scope of an index. */
export interface IndexScope {
  /** Lists models too that are loaded only once a client asks for them. Default false. */
  readonly loadable?: boolean;
}

/** Scope of an unload. */
export interface UnloadOptions {
  /** Unloads the models too that need it, and those that were loaded only because it needs them. Default false. */
  readonly dependents?: boolean | undefined;
}

/** One version of a model, held for one request: the version that checks a request is the one that runs it. */
export interface Lease {
  readonly description: ServableDescription;
  /** Runs the request; throws only {@link ServingError}. */
  infer(request: InferRequest): Promise<InferResponse>;
  /** Begins the record of a request in its protocol's own form, to be called before it runs; absent = it is not recorded. */
  readonly recordAs?: (kind: RecordedKind, request: RecordedMessage) => Recording | undefined;
  /** Lets the version be unloaded; to be called in any case, once the request is over. */
  release(): void;
}

/** Reference to a servable, as a request names it. */
export interface ModelRef {
  /** Empty = the only one there is. */
  readonly model: string;
  /** Absent = the highest available version, or the label's. */
  readonly version?: bigint | undefined;
  readonly label?: string | undefined;
}

/** One version of a model, and whether it can answer now. */
export interface ServableState extends VersionStatus {
  readonly isReady: boolean;
  /** The reason why it is not ready; empty where it is. */
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
  /**
   * The reason why parts of its graph cannot be run by the names of tensors; empty = they can, absent = a remote server
   * does not tell.
   */
  readonly graphRefusal?: string;
  /** Rows that waiting requests are put together to; absent or 0 = they are not, or a remote server does not tell. */
  readonly maxBatchSize?: number;
}

/** One request to a leased version, the same for every wire. */
export interface InferRequest {
  readonly signature: ChosenSignature;
  /** Given away: large tensors may be handed to another thread, and are empty here afterwards. */
  readonly inputs: Payload;
  /** Output names wanted, which the signature has where it tells its outputs; absent = all. */
  readonly outputs?: readonly string[] | undefined;
  /**
   * Operations to run in addition, where inputs and outputs are those of the model's graph, by the names of its tensors;
   * absent = they are those of the signature. Only where {@link ServableDescription.graphRefusal} is empty.
   */
  readonly targets?: readonly string[] | undefined;
  readonly call: CallOptions;
}

/** Result of an inference request. */
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
  readonly contentType?: string | undefined;
}

export type { CallOptions } from "../pipeline/call-options.ts";
export type { JsonPayload } from "../pipeline/payload.ts";
