import { isChosenProtocol } from "../../platform/limits/settings/protocol-settings.ts";
import type { ProtocolSettings } from "../../platform/limits/settings/server-settings.ts";
import type { DocsOf } from "../../proxy/http-errors.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { guessExamples, plainElement } from "../../tensor/signature/example-inputs.ts";
import { knownInputs, type Signature, type TensorSpec, takesImages, toSize } from "../../tensor/signature/signature.ts";
import { elementCount } from "../../tensor/tensor.ts";
import { readVersion } from "../../version.ts";
import {
  type Endpoint,
  endpointPaths,
  jsonBody,
  jsonContent,
  modelOperationId,
  type Paths,
  refusals,
  withOwnIds,
} from "../endpoint-paths.ts";
import { exampleImage, isImageInput } from "../example-values.ts";
import { flatSchema, nestedSchema } from "../value-schema.ts";
import { DATATYPE_NAMES, datatypeOf } from "./datatype.ts";
import { describeAll, withinMost } from "./describe-all.ts";
import type { KserveCall } from "./http-endpoint.ts";
import { defaultSignature, hasType } from "./model-metadata.ts";
import { describeModel, toModelRef } from "./model-ref.ts";
import { MODEL_READY_SCHEMAS } from "./openapi-schemas.ts";

const TAG = "KServe V2";

/** The end of the paths of OpenAPI documents, which Triton does not have. */
export const DOCUMENT = "/openapi.json";

/** The naming of the document that an error leads to: without KServe V2 the one text about all that is served. */
export function docsOf({ servedProtocols }: Pick<ProtocolSettings, "servedProtocols">): DocsOf {
  return isChosenProtocol("kserve", servedProtocols) ? documentPath : () => "/llms.txt";
}

/** The path of the document about one model, or about all for an empty name. */
export function documentPath(model: string): string {
  return `/v2${model === "" ? "" : `/models/${encodeURIComponent(model)}`}${DOCUMENT}`;
}

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
    else if (path.endsWith("/infer_stream")) paths[path] = { post: { ...post, ...inferBody() } };
  for (const [name, signature] of models) {
    const path = `/v2/models/${encodeURIComponent(name)}/infer`;
    const named = { summary: `Run the model ${name}`, tags: [name], operationId: modelOperationId("infer", name) };
    paths[path] = { post: { ...named, ...inferOperation(signature) } };
    const ready = readyEndpoint(name);
    const get = endpointPaths(name, [ready])[ready.path]?.get;
    paths[ready.path] = { get: { ...get, operationId: modelOperationId("get_ready", name) } };
  }
  return toDocument("kserving, KServe V2", paths);
}

function toDocument(title: string, paths: Paths): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: { title, version: readVersion() },
    paths: withOwnIds(paths),
    components: { schemas: { Error: ERROR, InferParameters: PARAMETERS } },
  };
}

function readyEndpoint(name: string): Endpoint {
  const path = `/v2/models/${encodeURIComponent(name)}/ready`;
  return { method: "GET", path, summary: `Tell whether the model ${name} is ready`, schemas: MODEL_READY_SCHEMAS };
}

/** The OpenAPI document of one model, or one version of it: the endpoints, which are after the path of the model. */
export async function modelDocument(
  endpoints: readonly Endpoint[],
  { service, model, version }: Pick<KserveCall, "service" | "model" | "version">,
): Promise<OpenApiDocument> {
  const found = await describeModel(service, toModelRef(model, version));
  const { model: name } = found;
  const [described] = withinMost([[name, defaultSignature(found)]]);
  const signature = described?.[1] ?? {};
  const prefix = `/v2/models/${encodeURIComponent(name)}${version === "" ? "" : `/versions/${version}`}`;
  const paths: Paths = {};
  for (const endpoint of endpoints) {
    const [path, method] = [prefix + endpoint.path, endpoint.method.toLowerCase()];
    const words = [...(method === "get" ? [method] : []), ...endpoint.path.split("/").filter(Boolean)];
    const own = {
      ...endpointPaths(name, [{ ...endpoint, path }])[path]?.[method],
      operationId: modelOperationId(words.join("_").replace(/\W/g, "_"), name),
    };
    paths[path] = { ...paths[path], [method]: { ...own, ...bodyOf(endpoint.path, signature) } };
  }
  return toDocument(`The model ${name}`, paths);
}

function bodyOf(path: string, signature: Signature): object {
  if (path === "/infer") return inferOperation(signature);
  return path === "/infer_stream" ? inferBody(signature) : {};
}

const BINARY =
  "Values may be bytes after the JSON, with the header Inference-Header-Content-Length; so are outputs of a request with the parameter binary_data_output.";

function inferOperation(signature: Signature): object {
  const { outputs } = signature;
  return {
    description: BINARY,
    ...inferBody(signature),
    responses: {
      200: { description: "The outputs.", content: jsonContent(responseSchema(outputs)) },
      ...refusals(),
    },
  };
}

function inferBody(signature: Signature = {}): object {
  return { requestBody: jsonBody(requestSchema(signature.inputs), exampleRequest(signature)) };
}

const ERROR = {
  type: "object",
  required: ["error"],
  properties: {
    error: { type: "string" },
    code: { type: "string", description: "A gRPC status: invalid_argument" },
    reason: { type: "string", description: "What is wrong: UNKNOWN_INPUT" },
    field: { type: "string", description: "The input, output, model or parameter that it is about" },
    expected: { type: "string", description: "The dtype, shape or names that are expected there" },
    did_you_mean: { type: "string", description: "The nearest known name" },
    docs: { type: "string", description: "Path of the document that says what the model takes" },
  },
};
const PARAMETERS = { type: "object", additionalProperties: { type: ["string", "number", "boolean"] } };

/**
 * The JSON of a request, its values of the right kind; undefined if an input is not known, or too long to be read.
 */
export function exampleRequest(signature: Signature): object | undefined {
  const inputs = knownInputs(signature)?.map((spec) => (hasType(spec) ? exampleInput(spec) : undefined));
  const isShort = inputs !== undefined && inputs.length > 0 && inputs.every((input) => input !== undefined);
  return isShort ? { inputs } : undefined;
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

/** The JSON schema of an answer. */
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
      data: dataSchema(spec),
    },
  };
}

/**
 * Lists may be nested like the shape, or one list of all elements; bytes that are not text are objects, and NaN a word.
 */
function dataSchema(spec: TensorSpec | undefined): object {
  if (spec === undefined || takesImages(spec)) return { type: "array" };
  if (spec.dtype === "bytes") return { type: "array", items: {} };
  return (spec.shape?.length ?? 0) < 2 ? flatSchema(spec) : { anyOf: [flatSchema(spec), nestedSchema(spec)] };
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

/** More elements are not read by people. */
const MAX_ELEMENTS = 100;

/** An input of a request as people may send it; undefined if it would be too long to be read. */
function exampleInput(spec: TensorSpec): object | undefined {
  const { name, dtype } = spec;
  if (takesImages(spec)) return { name, datatype: "BYTES", shape: [1], data: [{ b64: exampleImage(spec) }] };
  const [example] = guessExamples([spec]);
  const datatype = datatypeOf(dtype)?.name;
  const count = elementCount(example?.shape ?? []);
  if (example === undefined || datatype === undefined || count > MAX_ELEMENTS) return undefined;
  const element = isImageInput(spec) ? { b64: exampleImage(spec) } : plainElement(example);
  return { name, datatype, shape: example.shape, data: new Array(count).fill(element) };
}
