import type { InferenceService } from "../../serving/inference-service.ts";
import type { Signature, TensorSpec } from "../../signature/signature.ts";
import { takesImages } from "../../signature/takes-images.ts";
import { readVersion } from "../../version.ts";
import { DATATYPE_NAMES, datatypeOf } from "./datatype.ts";
import { defaultSignature, toSize } from "./model-metadata.ts";
import { describeModel } from "./model-ref.ts";
import type { EndpointSchemas } from "./openapi-schemas.ts";

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

/** The OpenAPI document of the endpoints, with the inputs and outputs of every model that is loaded. */
export async function openApiDocument(endpoints: readonly Endpoint[], service: InferenceService): Promise<object> {
  const models = await describeAll(service);
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of endpoints) {
    const operations = paths[endpoint.path] ?? {};
    operations[endpoint.method.toLowerCase()] = operation(endpoint);
    paths[endpoint.path] = operations;
  }
  for (const [name, signature] of models) {
    const path = `/v2/models/${encodeURIComponent(name)}/infer`;
    paths[path] = { post: inferOperation(`Run the model ${name}`, signature) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "kserving, KServe V2", version: readVersion() },
    paths,
    components: { schemas: { Error: ERROR, InferParameters: PARAMETERS } },
  };
}

async function describeAll(service: InferenceService): Promise<(readonly [string, Signature])[]> {
  const names = new Set(service.index().flatMap(({ model, isReady }) => (isReady ? [model] : [])));
  return Promise.all(
    [...names].map(async (model) => [model, defaultSignature(await describeModel(service, { model }))] as const),
  );
}

function operation({ method, path, summary, isEmpty, schemas: { body, answer } = {} }: Endpoint): object {
  if (path.endsWith("/infer")) return { ...inferOperation(summary, {}), parameters: pathParameters(path) };
  return {
    summary,
    parameters: pathParameters(path),
    ...(method === "POST" && { requestBody: { required: false, content: json(body ?? { type: "object" }) } }),
    responses: { 200: { description: "It is so.", ...(!isEmpty && { content: json(answer ?? {}) }) }, ...refusals() },
  };
}

function inferOperation(summary: string, { inputs, outputs }: Signature): object {
  return {
    summary,
    requestBody: { required: true, content: json(requestSchema(inputs)) },
    responses: {
      200: {
        description: "The outputs.",
        content: { ...json(responseSchema(outputs)), "application/octet-stream": {} },
      },
      ...refusals(),
    },
  };
}

function requestSchema(specs: readonly TensorSpec[] | undefined): object {
  return {
    type: "object",
    required: ["inputs"],
    properties: {
      id: { type: "string" },
      parameters: { $ref: "#/components/schemas/InferParameters" },
      inputs: { type: "array", items: specs === undefined ? tensorSchema() : { oneOf: specs.map(tensorSchema) } },
      outputs: {
        type: "array",
        items: {
          type: "object",
          required: ["name"],
          properties: { name: { type: "string" }, parameters: { $ref: "#/components/schemas/InferParameters" } },
        },
      },
    },
  };
}

function responseSchema(specs: readonly TensorSpec[] | undefined): object {
  return {
    type: "object",
    required: ["model_name", "model_version", "outputs"],
    properties: {
      id: { type: "string" },
      model_name: { type: "string" },
      model_version: { type: "string" },
      outputs: {
        type: "array",
        items: specs === undefined ? tensorSchema() : { anyOf: [...specs.map(tensorSchema), tensorSchema()] },
      },
    },
  };
}

/** One tensor: of a model's input or output, or any. */
function tensorSchema(spec?: TensorSpec): object {
  const datatype = spec === undefined ? { enum: DATATYPE_NAMES } : { enum: datatypesOf(spec) };
  return {
    type: "object",
    required: ["name", "datatype", "shape"],
    properties: {
      name: spec === undefined ? { type: "string" } : { const: spec.name },
      datatype: { type: "string", ...datatype },
      shape: shapeSchema(spec),
      parameters: { $ref: "#/components/schemas/InferParameters" },
      data: { type: "array" },
    },
  };
}

/** An input of images takes them encoded, too. */
function datatypesOf(spec: TensorSpec): readonly string[] {
  const own = datatypeOf(spec.dtype)?.name ?? spec.dtype;
  return takesImages(spec) ? [own, "BYTES"] : [own];
}

function shapeSchema(spec: TensorSpec | undefined): object {
  const description = spec?.shape === undefined ? {} : { description: `[${spec.shape.map(toSize)}], -1 = any size` };
  return { type: "array", items: { type: "integer", minimum: 0 }, ...description };
}

const ERROR = { type: "object", required: ["error"], properties: { error: { type: "string" } } };
const PARAMETERS = { type: "object", additionalProperties: { type: ["string", "number", "boolean"] } };

function refusals(): object {
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
