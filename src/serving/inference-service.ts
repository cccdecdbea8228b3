import type { CallOptions } from "../pipeline/call-options.ts";
import type { InferRequest, InferResponse } from "../pipeline/infer-request.ts";
import type { PoisonCount } from "../pipeline/poison/poison-watch.ts";
import type { ExampleInputs } from "../tensor/signature/example-inputs.ts";
import type { FunctionsByModel, HookRoutes } from "./hook-routes.ts";
import type { LoadCounts } from "./load-counter.ts";
import type { RecordedCount } from "./recorded-count.ts";
import type { RecordedKind, RecordedMessage, Recording, RequestLogOptions } from "./request-log.ts";
import type { ServableDescription } from "./servable-description.ts";
import type { ServableStatistics } from "./servable-statistics.ts";
import type { RoutedRequest } from "./traffic.ts";
import type { VersionStatus } from "./version-status.ts";

/**
 * The interface of a protocol to the served models. `serving/` implements it over the catalog of servables,
 * `client/remote/remote-service.ts` over another server.
 */
export interface InferenceService {
  /**
   * Finds the version that a reference means and keeps it loaded until the lease is released. Throws `not_found` for an
   * unknown name or version, `invalid_argument` for an unknown label. Returns a promise only if the version has to
   * be waited for. `request` is the request to be run; if it names no version, the model's traffic rules choose one.
   * Without `request`, the version is only described.
   */
  acquire(ref: ModelRef, request?: RoutedRequest): Lease | Promise<Lease>;
  /**
   * The name of the model that a name of a request means: its own, or that of the model
   * whose alias it is; absent = names have no aliases.
   */
  nameOf?(model: string): string;
  /** Every name and version that was to be loaded; empty if a remote server does not report them. */
  index(scope?: IndexScope): readonly ServableState[];
  /**
   * Times and counts of the requests of every name and version until now; empty if a remote server does not report
   * them.
   */
  statistics(): Promise<readonly NamedStatistics[]>;
  /** Number of requests waiting or running, and its maximum; absent if another server answers. */
  inFlight?(): RequestCount | undefined;
  /** Loads of the versions that {@link index} lists; absent if another server answers. */
  loads?(): readonly LoadCounts[];
  /** Requests that were to be recorded, by the outcome; absent if another server answers. */
  recorded?(): readonly RecordedCount[];
  /** Requests that have ended what runs their model, and are refused; absent if another server answers. */
  poisonCounts?(): readonly PoisonCount[];
  /** Loads a model's files as they are now, unless a remote server has it. Throws `not_found` for an unknown name. */
  load(model: string, overrides?: LoadOverrides): Promise<void>;
  /**
   * Admits no new requests for a model, waits for its running ones and frees it, until it is loaded again. Throws
   * `not_found` for an unknown name, `failed_precondition` if other models need it and are not unloaded with it.
   */
  unload(model: string, options?: UnloadOptions): Promise<void>;
  /**
   * Serves these models instead of all others. Resolves once each is available; rejects once one has failed and the
   * others are settled.
   */
  reconfigure(models: readonly DescribedModel[]): Promise<void>;
  /**
   * Checks the files of the models, and those that describe them, for changes; resolves once each change is loaded or
   * has failed.
   */
  rescan(): Promise<void>;
  /** HTTP routes that hooks declare; the same object until they change. Absent if another server answers. */
  hookRoutes?(): HookRoutes;
  /** Calls back immediately and at each change of these routes, and of the functions about texts if they are known. */
  onHookRoutes?(listener: (routes: HookRoutes, functions?: FunctionsByModel) => void): void;
  /** Reports if a model may answer in parts, or has functions that get bytes. Absent = it is not known. */
  mayAnswerInParts?(): boolean;
  /**
   * This service, for the caller of a request, with what the server that answers it tells of all its models or of one:
   * it lists and describes them, and throws for those that are not there. Absent = this one knows them.
   */
  withModels?(call: ModelsCall, model?: string): Promise<InferenceService>;
  /** Reports if requests can be answered now. */
  isReady(): boolean;
  /** Calls back immediately and at each change of readiness; returns a function that removes the listener. */
  onReadiness(listener: (ready: boolean) => void): () => void;
}

/** The request for which {@link InferenceService.withModels} asks. */
export type ModelsCall = Pick<CallOptions, "id" | "metadata" | "signal" | "limits" | "memory">;

/** A number of requests, and its maximum. */
export interface RequestCount {
  readonly count: number;
  readonly maxCount: number;
}

/** Scope of an index. */
export interface IndexScope {
  /** Also lists models that are loaded only once a client asks for them. Default false. */
  readonly loadable?: boolean;
}

/** Scope of an unload. */
export interface UnloadOptions {
  /** Also unloads the models that need it, and those that were loaded only because it needs them. Default false. */
  readonly dependents?: boolean | undefined;
}

/** One version of a model, leased for one request: the version that checks a request is the one that runs it. */
export interface Lease {
  readonly description: ServableDescription;
  /** True if another server answers, which may want the client's credentials. */
  readonly passesOn?: true;
  /** Runs the request; throws only {@link ServingError}. */
  infer(request: InferRequest): Promise<InferResponse>;
  /**
   * Starts the record of a request in its protocol's own form, to be called before it
   * runs; absent = it is not recorded.
   */
  readonly recordAs?: (kind: RecordedKind, request: RecordedMessage) => Recording | undefined;
  /**
   * Inputs for a first request, undefined for a model that no request can run; absent
   * if another server has the version.
   */
  readonly exampleInputs?: () => Promise<ExampleInputs | undefined>;
  /** Lets the version be unloaded; must be called once the request is over, whatever its result. */
  release(): void;
}

/** Reference to a servable, as a request names it. */
export interface ModelRef {
  /** Empty = the only served model. */
  readonly model: string;
  /** Absent = the highest available version, or the label's. */
  readonly version?: bigint | undefined;
  readonly label?: string | undefined;
}

/** One version of a model, and its readiness. */
export interface ServableState extends VersionStatus {
  readonly isReady: boolean;
  /** The reason why it is not ready; empty if it is. */
  readonly unavailableReason: string;
}

/** The statistics of one version of a model. */
export interface NamedStatistics extends ServableStatistics {
  readonly model: string;
  readonly version: bigint;
}

export { arrivedCall, type CallOptions } from "../pipeline/call-options.ts";
export type { InferRequest, InferResponse, PartSink } from "../pipeline/infer-request.ts";
export type { JsonPayload } from "../pipeline/payload.ts";

/**
 * Parts of a model that a client provides for a load instead of those in the model's own folder, as in Triton's API.
 */
export interface LoadOverrides {
  /** A ModelConfig in the JSON form of protobuf. */
  readonly config: string;
  /** Contents by paths in the model's folder; empty = the existing folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** One model as described by a client that changes which models are served. */
export interface DescribedModel {
  readonly name: string;
  /** An absolute path of this machine, or the address of a remote storage. */
  readonly path: string;
  readonly versions: "all" | { readonly latest: number } | readonly bigint[];
  /** Versions by label. */
  readonly labels: Readonly<Record<string, bigint>>;
  /** Absent = the server's settings. */
  readonly requestLog?: RequestLogOptions;
}
