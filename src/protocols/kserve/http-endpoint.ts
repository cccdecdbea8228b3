import type { CallKind } from "../../access/caller.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpDependencies } from "../../proxy/http-route.ts";
import type { EndpointSchemas } from "../endpoint-paths.ts";

/** A request to an endpoint; model and version are empty if its path has none. */
export interface KserveCall extends Pick<HttpDependencies, "service" | "sharedMemory" | "settings" | "tracer" | "log"> {
  readonly model: string;
  readonly version: string;
  /** The region of shared memory in the path. */
  readonly region: string;
  readonly exchange: HttpExchange;
}

/** One endpoint of the protocol. */
export interface KserveEndpoint {
  readonly method: "GET" | "POST";
  /** The kind of its requests, by which permissions are checked. */
  readonly kind: CallKind;
  /** With `{name}`, `{version}` and `{region}`. */
  readonly path: string;
  /** Its purpose, for the OpenAPI document. */
  readonly summary: string;
  /** True if the answer comes in parts, each as it is made; default false. */
  readonly inParts?: true;
  /** The answer's media type, for the OpenAPI document; default JSON. */
  readonly contentType?: string;
  /** True if the answer is only a status; default false. */
  readonly isEmpty?: true;
  /** Schemas of its body and answer, for the OpenAPI document. */
  readonly schemas?: EndpointSchemas;
  readonly answer: (call: KserveCall) => Promise<HttpAnswer>;
}
