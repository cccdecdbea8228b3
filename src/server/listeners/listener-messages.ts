import type { MessagePort } from "node:worker_threads";
import type { AuthenticationOptions } from "../../access/authentication/open-authentication.ts";
import type { TlsPaths } from "../../access/tls-files.ts";
import type { RecentRequest } from "../../observability/live/live-data.ts";
import type { Logged } from "../../observability/log-filter.ts";
import type { PlainSeries } from "../../observability/metrics/request-metrics.ts";
import type { PlainCall } from "../../pipeline/call-options.ts";
import type { RawHead } from "../../pipeline/infer-request.ts";
import type { Payload } from "../../pipeline/payload.ts";
import type { Variables } from "../../platform/machine/start-secrets.ts";
import { FIRST_REQUEST } from "../../platform/threads/rpc-client.ts";
import type { LogEvent } from "../../platform/threads/thread-logger.ts";
import type { TimedAnswer } from "../../platform/threads/timed-answer.ts";
import type { WireError } from "../../platform/threads/wire-error.ts";
import type { HookRoutes } from "../../serving/hook-routes.ts";
import type { ServableState } from "../../serving/inference-service.ts";
import type { RecordedKind } from "../../serving/request-log.ts";
import type { RoutedRequest } from "../../serving/traffic.ts";
import type { TransportOptions } from "../transports.ts";

/** Kinds of requests of a listener to the main thread. */
export const ACQUIRE = FIRST_REQUEST;
export const RUN = FIRST_REQUEST + 1;
export const RELEASE = FIRST_REQUEST + 2;
/** Begins the record of a lease's request in its protocol's own form, which {@link RECORDED} ends. */
export const RECORD = FIRST_REQUEST + 3;
export const RECORDED = FIRST_REQUEST + 4;
/** Counts a request of a client, as far as its limits go; {@link LEAVE} ends it. */
export const ENTER = FIRST_REQUEST + 5;
export const LEAVE = FIRST_REQUEST + 6;

/** The meta of {@link ACQUIRE}. */
export interface AcquireMeta {
  readonly model: string;
  readonly version?: string | undefined;
  readonly label?: string | undefined;
  /** Present for a request to be run. */
  readonly request?: RoutedRequest | undefined;
}

/** The meta of its answer; the description is in its tensor. */
export interface AcquiredMeta {
  readonly lease: number;
  /** True if it is for all requests with the reference, until the next change. */
  readonly isKept: boolean;
  /** Number of changes until now. */
  readonly changes: number;
  readonly mayRecord: boolean;
}

/** The meta of {@link RUN}; the payload is the record's tensors. */
export interface RunMeta {
  readonly lease: number;
  readonly call: PlainCall;
  readonly signature: string;
  readonly kind: Payload["kind"];
  readonly outputs?: readonly string[] | undefined;
  readonly targets?: readonly string[] | undefined;
  readonly raw?: RawHead | undefined;
  /** Memory of the request that the listener counts, in bytes. */
  readonly heldBytes: number;
  /** Key of its client's account. */
  readonly client: string;
}

/** The meta of its answer; absent if there is nothing but tensors of the lease's own version. */
export interface RanMeta {
  readonly model?: string;
  readonly version?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly contentType?: string | undefined;
  readonly status?: number | undefined;
  /** Present if the parts of the request were asked for. */
  readonly timed?: TimedAnswer;
}

/** The meta of {@link RECORD} and {@link RECORDED}, whose message is in their tensor. */
export interface RecordMeta {
  readonly lease: number;
  readonly kind?: RecordedKind;
}

/** Options of the transports as plain data. */
export interface ListenerOptions
  extends Pick<TransportOptions, "settings" | "host" | "port" | "httpPort" | "hasPlatformElsewhere"> {
  readonly tls?: TlsPaths | undefined;
  readonly auth?: AuthenticationOptions | undefined;
  /** True if clients have limits. */
  readonly limitsClients: boolean;
  readonly hasMetrics: boolean;
  readonly pageToken?: string | undefined;
}

/** Start data of a listener. */
export interface ListenerData {
  readonly options: ListenerOptions;
  /** Its number among the threads that take requests, from 1 on. */
  readonly number: number;
  /** Connections of all of them, and kilobytes of their requests: see ThreadCounts. */
  readonly connections: SharedArrayBuffer;
  readonly held: SharedArrayBuffer;
  readonly logged: Logged;
  /** False if the main thread's log has no levels that change. */
  readonly hasFilter: boolean;
  readonly requests: MessagePort;
  readonly heartbeat: SharedArrayBuffer;
  /** Memory of the main thread's choice of traces; absent = none are recorded. */
  readonly sampling: SharedArrayBuffer | undefined;
  /** The program's environment, secrets included; a thread has a copy without them. */
  readonly environment: Variables;
  readonly inner: InnerAddress;
  readonly state: ServiceState;
}

/** Address at which the main thread takes the connections that listeners pass on. */
export interface InnerAddress {
  readonly path: string;
  /** A secret of this process. */
  readonly token: string;
}

/** Facts about the service, as far as requests need them at once. */
export interface ServiceState {
  /** Number of changes until now. */
  readonly changes: number;
  readonly isReady: boolean;
  readonly index: readonly ServableState[];
  readonly hookRoutes: HookRoutes;
  readonly mayAnswerInParts: boolean;
  /** A name that also means the only model. */
  readonly alias?: { readonly name: string; readonly model: string } | undefined;
}

/** Messages of the main thread to a listener. */
export type ListenerCommand =
  | { readonly changed: number }
  | { readonly state: ServiceState }
  | { readonly look: true }
  | { readonly count: number }
  | { readonly retire: true }
  | { readonly close: number };

/** Messages of a listener to the main thread. */
export type ListenerEvent =
  | { readonly begun: true }
  | { readonly opened: { readonly grpcAddress: string; readonly httpUrl: string | undefined } }
  | { readonly failed: WireError }
  | { readonly log: LogEvent }
  | { readonly recent: RecentRequest }
  | { readonly counted: { readonly id: number; readonly series: readonly PlainSeries[] } }
  | { readonly closed: true };
