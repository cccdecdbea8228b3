import type { InferenceService } from "../../serving/inference-service.ts";
import type { Signature } from "../../signature/signature.ts";
import { readVersion } from "../../version.ts";
import { describeAll } from "./describe-all.ts";
import type { EndpointSchemas } from "./openapi-schemas.ts";
import { requestContent, responseSchema } from "./openapi-tensors.ts";

/** An endpoint in the document. */
interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  /** True where the answer is only a status. */
  readonly isEmpty?: boolean;
  readonly schemas?: EndpointSchemas;
}

/** Statuses of errors of any endpoint. */
const REFUSALS: Readonly<Record<string, string>> = {
  400: "The request is wrong; the error says where, and what is expected.",
  401: "The caller is not known, and has to be.",
  403: "The caller may not make this call.",
  404: "There is no such model or version.",
  413: "The body is larger than the server takes.",
  415: "The body is compressed in a way that the server does not know.",
  429: "The model has no memory left for this request.",
  501: "This server cannot do it, or it is a proxy and the call is for the server behind it.",
  503: "The server has too much to do, or is being changed; try again.",
  504: "The request's time was up.",
};

/** A document of OpenAPI 3.1. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** The OpenAPI document of the endpoints, with the inputs and outputs of every model that is loaded. */
export async function openApiDocument(
  endpoints: readonly Endpoint[],
  service: InferenceService,
): Promise<OpenApiDocument> {
  const models = await describeAll(service);
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of endpoints) {
    const operations = paths[endpoint.path] ?? {};
    operations[endpoint.method.toLowerCase()] = operation(endpoint);
    paths[endpoint.path] = operations;
  }
  for (const [name, signature] of models) {
    const path = `/v2/models/${encodeURIComponent(name)}/infer`;
    const named = { summary: `Run the model ${name}`, tags: [name], operationId: operationIdOf("post", path) };
    paths[path] = { post: { ...named, ...inferOperation(signature) } };
  }
  return {
    openapi: "3.1.0",
    info: { title: "kserving, KServe V2", version: readVersion() },
    paths,
    components: { schemas: { Error: ERROR, InferParameters: PARAMETERS } },
  };
}

function operation({ method, path, summary, isEmpty, schemas: { body, answer } = {} }: Endpoint): object {
  const named = {
    summary,
    tags: ["KServe V2"],
    operationId: operationIdOf(method, path),
    parameters: pathParameters(path),
  };
  if (path.endsWith("/infer")) return { ...named, ...inferOperation({}) };
  return {
    ...named,
    ...(method === "POST" && { requestBody: { required: false, content: json(body ?? { type: "object" }) } }),
    responses: { 200: { description: "It is so.", ...(!isEmpty && { content: json(answer ?? {}) }) }, ...refusals() },
  };
}

/** A name for generated clients: `post_v2_models_name_infer`, with the percent signs of other characters as underscores. */
function operationIdOf(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replace(/[{}]/g, "").replace(/[^A-Za-z0-9]/g, "_")}`;
}

const BINARY =
  "Values may be bytes after the JSON, with the header Inference-Header-Content-Length; so are outputs of a request with the parameter binary_data_output.";

function inferOperation({ inputs, outputs }: Signature): object {
  return {
    description: BINARY,
    requestBody: { required: true, content: requestContent(inputs) },
    responses: {
      200: { description: "The outputs.", content: json(responseSchema(outputs)) },
      ...refusals(),
    },
  };
}

const ERROR = { type: "object", required: ["error"], properties: { error: { type: "string" } } };
const PARAMETERS = { type: "object", additionalProperties: { type: ["string", "number", "boolean"] } };

/** Answers of any operation that are errors. */
export function refusals(): object {
  const content = json({ $ref: "#/components/schemas/Error" });
  return Object.fromEntries(
    Object.entries(REFUSALS).map(([status, description]) => [status, { description, content }]),
  );
}

function pathParameters(path: string): object[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return names.map((name) => ({ name, in: "path", required: true, schema: { type: "string", minLength: 1 } }));
}

function json(schema: object): object {
  return { "application/json": { schema } };
}
