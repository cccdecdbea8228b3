import type { Logger } from "../observability/logger.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { Exchange } from "./exchange.ts";

/** What every route needs. */
export interface HttpDependencies {
  readonly service: InferenceService;
  /** The largest body taken, after inflation. */
  readonly maxMessageBytes: number;
  readonly log: Logger;
}

/** A protocol's routes: a handler for the requests that are its own, undefined for all others. */
export type HttpRoutes = (method: string, url: string) => RouteHandler | undefined;

/** Answers one request; throws instead of answering with an error. */
export type RouteHandler = (exchange: Exchange) => Promise<HttpAnswer>;

/** A successful answer. */
export interface HttpAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Headers that hooks set. */
  readonly headers?: Readonly<Record<string, string>>;
}
