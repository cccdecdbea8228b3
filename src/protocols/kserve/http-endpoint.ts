import type { CallKind } from "../../access/caller.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies } from "../../proxy/http-route.ts";
import type { EndpointSchemas } from "./openapi-schemas.ts";

/** A request to an endpoint; model and version are empty where its path has none. */
export interface KserveCall extends HttpDependencies {
  readonly model: string;
  readonly version: string;
  /** The region of shared memory that the path names. */
  readonly region: string;
  readonly exchange: HttpExchange;
}

/** One endpoint of the protocol. */
export interface KserveEndpoint {
  readonly method: "GET" | "POST";
  /** Decides who may send it. */
  readonly kind: CallKind;
  /** With `{name}`, `{version}` and `{region}`. */
  readonly path: string;
  /** Purpose, for the OpenAPI document. */
  readonly summary: string;
  /** True where the status alone is the answer; default false. */
  readonly isEmpty?: true;
  /** Schemas of body and answer, for the OpenAPI document. */
  readonly schemas?: EndpointSchemas;
  readonly answer: (call: KserveCall) => Promise<HttpAnswer>;
}
