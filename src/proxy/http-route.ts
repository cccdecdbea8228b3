import type { IncomingMessage } from "node:http";
import type { AccessPolicy } from "../access/access-policy.ts";
import type { CallKind } from "../access/caller.ts";
import type { ClientGate } from "../access/client-gate.ts";
import type { ClientKey } from "../access/client-key.ts";
import type { ControlAccess } from "../access/control-access.ts";
import type { MediaFetcher } from "../access/media-fetcher.ts";
import type { Logger } from "../observability/logger.ts";
import type { RequestMetrics } from "../observability/metrics/request-metrics.ts";
import type { RouteName } from "../observability/request-record.ts";
import type { RequestTracer } from "../observability/request-tracer.ts";
import type { MemoryBudget } from "../platform/limits/memory/memory-budget.ts";
import type { ProtocolSettings } from "../platform/limits/settings/server-settings.ts";
import type { SharedMemory } from "../platform/shared-memory/shared-memory.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { PlatformModels } from "../serving/platform-models.ts";
import type { DocsOf, ErrorForm, ToldFailure } from "./http-errors.ts";
import type { AnswersInParts, HttpExchange } from "./http-exchange.ts";
import type { PageSources } from "./page-sources.ts";

/** Services for every route. */
export interface HttpDependencies {
  readonly service: InferenceService;
  /** Maximum size of a body, after inflation. */
  readonly maxMessageBytes: number;
  /** Memory of all requests. */
  readonly memory: MemoryBudget;
  /** The answers in parts that are under way; absent = a server that ends cuts them short. */
  readonly inParts?: AnswersInParts | undefined;
  /** Permissions of clients. */
  readonly policy: AccessPolicy;
  /** Limits of each client; absent = there are none. */
  readonly clients?: ClientGate | undefined;
  /** Gives the key of a client's account. */
  readonly accountKey: ClientKey;
  /** Counts and times of the requests of all transports. */
  readonly metrics: RequestMetrics;
  /** Port of gRPC; absent = it has none. */
  readonly grpcPort?: number | undefined;
  /** Models that a platform loads by their folders; absent = no platform does. */
  readonly platform?: PlatformModels | undefined;
  /** True if another thread knows these models. */
  readonly hasPlatformElsewhere?: boolean | undefined;
  /** Regions that clients of KServe V2 register; absent = they may not. */
  readonly sharedMemory?: SharedMemory | undefined;
  readonly settings: ProtocolSettings;
  /** Sources of the server's own page; absent = there is no page. */
  readonly page?: PageSources | undefined;
  /** Fetches images and sound that messages have as addresses; absent = that is not done. */
  readonly media?: MediaFetcher | undefined;
  /** Records traces; absent = there are none. */
  readonly tracer?: RequestTracer | undefined;
  readonly log: Logger;
}

/** The HTTP routes of a protocol. */
export interface HttpProtocol {
  /** Routes that run models, by POST. */
  readonly inference: readonly InferenceRoute[];
  /** All other routes. */
  readonly routes?: readonly HttpRoute[];
  /** True if the case of a path's fixed parts does not count. Default false. */
  readonly anyCase?: boolean;
  /**
   * True if its routes are others of this server in another form, so that the error for an unknown URL, which has no
   * room for all, tells those alone. Default false.
   */
  readonly isOtherForm?: true;
  /** Matches the URLs, without their query, that belong to the protocol, including those without a route. */
  readonly prefix?: RegExp;
  /** The paths that a setting would make the protocol's, and its flag, for the error that a request for one gets. */
  readonly turnedOff?: { readonly paths: RegExp; readonly without: string };
  /**
   * Creates the error for a URL of the protocol; `methods` = the supported ones, none for an unknown URL. Default: 405
   * or 404.
   */
  readonly refuse?: (request: IncomingMessage, methods: readonly string[]) => Error;
  /** Absent = errors have no members beside `error`, since clients compare them as a whole. */
  readonly docsOf?: DocsOf | undefined;
  /** Absent = errors have the form of all other protocols. */
  readonly errorForm?: ErrorForm;
  /** A header, in lower case, in which clients send a token that is not in `Authorization`; absent = there is none. */
  readonly keyHeader?: string;
  /** Answers OPTIONS, except for a browser's preflight of a permitted origin. Default: 204 with the methods. */
  readonly answerOptions?: RouteHandler;
}

/** A protocol's part over HTTP with the protocol's name. */
export interface NamedHttpProtocol extends HttpProtocol {
  readonly name: string;
}

/** The name of a route for metrics: its path without Express' escapes. */
export function nameRoute(protocol: string, method: string, path: string): RouteName {
  return { protocol, method: `${method} ${path.replaceAll("\\", "")}` };
}

/** A route that runs models. It is matched before Express, which takes several times as long as a small request. */
export interface InferenceRoute {
  /** In Express' form, for methods other than POST: `/v2/models/:name/infer`. */
  readonly path: string;
  /**
   * Answers that come in parts, so that their requests are answered by the thread that has the models: all, those for
   * which `Accept` asks, or also any of a server with models that may give parts. Default: none.
   */
  readonly inParts?: true | "accepted" | "possible";
  /** True if the error for an unknown URL, which has no room for all, does not tell it. Default false. */
  readonly isUntold?: true | undefined;
  /** The handler for a URL, query included, if it belongs to this route; undefined for any other. */
  readonly find: (url: string) => RouteHandler | undefined;
}

/** A route that Express answers. */
export interface HttpRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** In Express' form; a parameter that cannot be decoded is refused. */
  readonly path: string;
  /**
   * The kind of its requests, by which permissions are checked; `inference` = it belongs
   * to running models, but runs none.
   */
  readonly kind: CallKind;
  /** Clients that may send it if it is a control call. Default: those of `--allow-control`. */
  readonly access?: ControlAccess;
  /** True if pages of other origins cannot read the answers, whatever they are permitted. Default false. */
  readonly isForOwnPage?: true;
  /** True if clients that accept compressed answers to inference expect plain ones here. Default false. */
  readonly neverCompressed?: true;
  /** Requests that it answers; the others go on to the next protocol that has the path. Default: all. */
  readonly takes?: (request: IncomingMessage) => boolean;
  readonly answer: (exchange: HttpExchange, parameters: PathParameters) => Promise<HttpAnswer>;
}

/** The decoded parameters of a path. */
export type PathParameters = Readonly<Record<string, string | undefined>>;

/** Creates a protocol's part over HTTP. */
export type CreateHttpProtocol = (dependencies: HttpDependencies) => HttpProtocol;

/** Answers one request; throws instead of answering with an error. */
export type RouteHandler = (exchange: HttpExchange) => Promise<HttpAnswer>;

/** The rest of an answer that is never whole in memory. */
interface AnswerStream {
  /** Memory that it is made of, in bytes. */
  readonly heldBytes: number;
  readonly parts: AsyncIterable<Uint8Array>;
  /** True if each part is made when it is due, so that none waits for others to be sent with it. */
  readonly inParts?: true;
  /** Last part of one that fails. Absent = an error cuts it short. */
  readonly lastWords?: ((failure: ToldFailure) => Uint8Array) | undefined;
}

/** A successful answer. */
export interface HttpAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Bytes after the body, so that large tensors need not be appended to it by a copy. */
  readonly rest?: readonly Uint8Array[];
  /**
   * Bytes after these that are made while they are sent. An answer with them does not
   * tell its length.
   */
  readonly stream?: AnswerStream | undefined;
  /** Compression of the body, chosen by the transport; absent = none. */
  readonly contentEncoding?: string;
  /** Headers of the protocol, of plain ASCII; they replace those that hooks set. */
  readonly ownHeaders?: readonly (readonly [name: string, value: string])[];
  /** Headers set by hooks. */
  readonly headers?: Readonly<Record<string, string>>;
}
