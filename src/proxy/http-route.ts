import type { AccessPolicy } from "../access/access-policy.ts";
import type { CallKind } from "../access/caller.ts";
import type { MemoryBudget } from "../limits/memory-budget.ts";
import type { Logger } from "../observability/logger.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { HttpExchange } from "./http-exchange.ts";

/** What every route needs. */
export interface HttpDependencies {
  readonly service: InferenceService;
  /** The largest body taken, after inflation. */
  readonly maxMessageBytes: number;
  /** What all requests hold together. */
  readonly memory: MemoryBudget;
  /** Who may do what. */
  readonly policy: AccessPolicy;
  readonly log: Logger;
}

/** A protocol's routes: one for each request that is its own, undefined for all others. */
export type HttpRoutes = (method: string, url: string) => HttpRoute | undefined;

/** What answers a request. */
export interface HttpRoute {
  /** Decides who may send it. */
  readonly kind: CallKind;
  readonly answer: RouteHandler;
}

/** Creates a protocol's routes. */
export type CreateHttpRoutes = (dependencies: HttpDependencies) => HttpRoutes;

/** Answers one request; throws instead of answering with an error. */
export type RouteHandler = (exchange: HttpExchange) => Promise<HttpAnswer>;

/** A successful answer. */
export interface HttpAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** What follows the body, so that large tensors need not be copied behind it. */
  readonly rest?: readonly Uint8Array[];
  /** How the body is compressed; absent = it is not. */
  readonly contentEncoding?: string;
  /** Headers that hooks set. */
  readonly headers?: Readonly<Record<string, string>>;
}
