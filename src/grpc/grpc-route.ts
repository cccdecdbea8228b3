import type { CallKind } from "../access/caller.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { RequestObserver } from "../observability/request-observer.ts";
import type { RequestRecord } from "../observability/request-record.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import type { CancelSource } from "../platform/async/cancel-source.ts";
import type { ProtocolSettings } from "../platform/limits/settings/server-settings.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import type { CallOptions, InferenceService } from "../serving/inference-service.ts";
import type { FramedMessage } from "./framed-message.ts";
import type { Nesting } from "./payload-start.ts";

/** The parts of an inference request that a call has in addition to its message. */
export interface CallInfo extends CallOptions {
  readonly signal: CancelSource;
  readonly memory: NonNullable<CallOptions["memory"]>;
  readonly record: RequestRecord;
}

/** An encoded message, and metadata to send before it; absent = none. */
interface UnaryAnswer {
  readonly message: FramedMessage;
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Answers one message with one message. It calls the codecs itself, so that a malformed message gets a status with the
 * reason.
 * `assertMay` throws unless the client has the permission that only some messages of a method need.
 */
export type UnaryMethod = (
  message: Uint8Array,
  call: CallInfo,
  assertMay: (kind: CallKind) => void,
) => Promise<UnaryAnswer>;

interface RouteRules {
  /** The kind of its calls, by which permissions are checked. */
  readonly kind: CallKind;
  /** Size of the largest message, in bytes. Default: the server's limit. */
  readonly maxBytes?: number;
}

/** A unary method, and the nesting of large values in its messages; without nesting, there are none. */
export interface UnaryRoute extends RouteRules {
  readonly method: UnaryMethod;
  readonly nesting?: Nesting;
}

/** A call with any number of messages in both directions. */
export interface StreamExchange extends CallInfo {
  readonly path: string;
  /**
   * The client's messages, in order. They are counted in `memory`; the method releases each when it is done with it.
   */
  readonly messages: AsyncIterable<Uint8Array>;
  /** Has {@link messages} end with an error, also for a method that waits for the next one. */
  fail(reason: unknown): void;
  /** To be set by the method: true while it works, rather than waits for its client. */
  isWorking: boolean;
  /**
   * Sends a message; resolves once it has been sent or the call is over, so that a method can wait for a slow client.
   */
  write(message: FramedMessage): Promise<void>;
  /** Resets the call unless all of its answer has been sent; if its client reads nothing, its connection too. */
  cut(): void;
}

/** Answers a call: resolving ends the call with OK, rejecting ends it with the error's status. */
export type StreamMethod = (exchange: StreamExchange) => Promise<void>;

/** A method with streams of messages. */
export interface StreamRoute extends RouteRules {
  readonly stream: StreamMethod;
}

/** Routes by their path, `/package.Service/Method`. */
export type GrpcRoutes = Readonly<Record<string, UnaryRoute | StreamRoute>>;

/** Options of the server for protocols. */
export interface GrpcProtocolOptions {
  /** Maximum memory of one request's tensors, in bytes. */
  readonly maxMessageBytes: number;
  readonly settings: ProtocolSettings;
  /** Regions that clients of KServe V2 register; absent = they may not. */
  readonly sharedMemory?: SharedMemory | undefined;
  /** Counts the messages of streams. */
  readonly observer: RequestObserver;
  /** Records traces; absent = there are none. */
  readonly tracer?: RequestTracer | undefined;
  /** Counts of all calls; absent = they are not counted. */
  readonly metrics?: RequestMetrics | undefined;
  readonly log: Logger;
}

/** One protocol on a gRPC server. */
export interface GrpcProtocol {
  readonly routes: GrpcRoutes;
  /** Called when the server begins to shut down, to end streams that have no end of their own. */
  shutDown?(): void;
}

/** Creates a protocol's part of a gRPC server. */
export type CreateGrpcProtocol = (service: InferenceService, options: GrpcProtocolOptions) => GrpcProtocol;
