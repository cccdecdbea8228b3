import type { InferenceService } from "../../serving/inference-service.ts";
import type { Signature } from "../../signature/signature.ts";
import { readVersion } from "../../version.ts";
import {
  type Endpoint,
  endpointPaths,
  jsonContent,
  operationIdOf,
  type Paths,
  refusals,
  withOwnIds,
} from "../endpoint-paths.ts";
import { describeAll } from "./describe-all.ts";
import { requestContent, responseSchema } from "./openapi-tensors.ts";

const TAG = "KServe V2";

/** A document of OpenAPI 3.1. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Paths;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** The OpenAPI document of the endpoints, with the inputs and outputs of every model that is loaded. */
export async function openApiDocument(
  endpoints: readonly Endpoint[],
  service: InferenceService,
): Promise<OpenApiDocument> {
  const models = await describeAll(service);
  const paths = endpointPaths(TAG, endpoints);
  for (const [path, { post }] of Object.entries(paths))
    if (path.endsWith("/infer")) paths[path] = { post: { ...post, ...inferOperation({}) } };
  for (const [name, signature] of models) {
    const path = `/v2/models/${encodeURIComponent(name)}/infer`;
    const named = { summary: `Run the model ${name}`, tags: [name], operationId: operationIdOf("post", path) };
    paths[path] = { post: { ...named, ...inferOperation(signature) } };
  }
  return {
    openapi: "3.1.0",
    info: { title: "kserving, KServe V2", version: readVersion() },
    paths: withOwnIds(paths),
    components: { schemas: { Error: ERROR, InferParameters: PARAMETERS } },
  };
}

const BINARY =
  "Values may be bytes after the JSON, with the header Inference-Header-Content-Length; so are outputs of a request with the parameter binary_data_output.";

function inferOperation({ inputs, outputs }: Signature): object {
  return {
    description: BINARY,
    requestBody: { required: true, content: requestContent(inputs) },
    responses: {
      200: { description: "The outputs.", content: jsonContent(responseSchema(outputs)) },
      ...refusals(),
    },
  };
}

const ERROR = { type: "object", required: ["error"], properties: { error: { type: "string" } } };
const PARAMETERS = { type: "object", additionalProperties: { type: ["string", "number", "boolean"] } };
