import type { IncomingMessage } from "node:http";
import type { ModelRef } from "../../serving/inference-service.ts";
import type { CustomAttributes } from "./custom-attributes.ts";

const JSON_TYPE = "application/json";

/** An invocation, and the model that it means. */
export interface Invocation {
  readonly ref: ModelRef;
  readonly attributes: CustomAttributes;
  /** The model of the URL; empty = it names none. */
  readonly named: string;
}

/** The members of the context that SageMaker's container gives to handlers; null = the request does not say. */
export function handlerFacts(
  { headers, socket }: IncomingMessage,
  { ref, attributes, named }: Invocation,
  grpcPort: number | undefined,
): Readonly<Record<string, string | number | null>> {
  const custom = headers["x-amzn-sagemaker-custom-attributes"];
  const version = attributes.version === undefined ? null : String(attributes.version);
  const scheme = "encrypted" in socket ? "https" : "http";
  const place = `/v1/models/${encodeURIComponent(ref.model)}${version === null ? "" : `/versions/${version}`}`;
  return {
    model_name: named || attributes.model || null,
    model_version: version,
    method: attributes.namedMethod ?? null,
    rest_uri: `${scheme}://localhost:${socket.localPort}${place}:${attributes.method}`,
    grpc_port: grpcPort === undefined ? null : String(grpcPort),
    custom_attributes: custom === undefined ? null : String(custom),
    request_content_type: headers["content-type"] || JSON_TYPE,
    accept_header: headers.accept || JSON_TYPE,
    content_length: headers["content-length"] === undefined ? null : Number(headers["content-length"]),
  };
}
