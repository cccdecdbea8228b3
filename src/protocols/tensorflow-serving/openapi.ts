import { type Signature, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import { type Endpoint, endpointPaths, jsonContent, type Paths, refusals } from "../endpoint-paths.ts";
import { exampleValues } from "../example-values.ts";
import { namedSchema, valueSchema } from "../value-schema.ts";
import { examplePaths } from "./examples/openapi.ts";

type Named = readonly [name: string, signature: Signature];

/** The endpoints that tell of models. */
const ENDPOINTS: readonly Endpoint[] = [
  { method: "GET", path: "/v1/models", summary: "List the models with their inputs and outputs" },
  { method: "GET", path: "/v1/models/{name}", summary: "Tell the states of a model's versions" },
  { method: "GET", path: "/v1/models/{name}/metadata", summary: "Describe a model's signatures" },
  { method: "GET", path: "/v1/config", summary: "Tell the states of all models" },
  {
    ...{ method: "POST", path: "/v1/config/reload", statuses: [200, 201] },
    summary: "Look at configuration files and version folders now; 201 = that changed something",
  },
];

/**
 * Paths of OpenAPI for TensorFlow Serving's REST: `predict` of each model, values as nested lists of its shapes;
 * `classify` and `regress`; and what tells of models.
 */
export function tensorflowPaths(models: readonly Named[]): Paths {
  const paths: Paths = { ...examplePaths(models), ...endpointPaths("TensorFlow Serving", ENDPOINTS) };
  for (const [name, signature] of models) {
    const path = `/v1/models/${encodeURIComponent(name)}:predict`;
    const operationId = `predict_${encodeURIComponent(name).replace(/[^A-Za-z0-9]/g, "_")}`;
    paths[path] = { post: { operationId, tags: [name], ...predictOperation(name, signature) } };
  }
  return paths;
}

function predictOperation(name: string, signature: Signature): object {
  const { inputs, outputs } = signature;
  const values = exampleValues(signature);
  const body = {
    type: "object",
    required: ["inputs"],
    properties: { signature_name: TEXT, inputs: inputsSchema(inputs) },
  };
  const answer = { type: "object", required: ["outputs"], properties: { outputs: outputsSchema(outputs) } };
  return {
    summary: `Run the model ${name}, by TensorFlow Serving's REST`,
    description: 'Bytes that are not text are {"b64": "…"}. Instead of inputs there may be instances, a list of rows.',
    requestBody: { required: true, content: jsonContent(body, values && { inputs: values }) },
    responses: {
      200: { description: "The outputs.", content: jsonContent(answer) },
      ...refusals(),
    },
  };
}

const TEXT = { type: "string" };
const IMAGES = { type: "array", items: { type: "object", required: ["b64"], properties: { b64: TEXT } } };

/** A single input may stand without its name. */
function inputsSchema(specs: readonly TensorSpec[] | undefined): object {
  if (specs === undefined) return {};
  const named = namedSchema(specs, { isRequired: ({ default: value }) => value === undefined, schemaOf: inputSchema });
  const [only] = specs;
  return only !== undefined && specs.length === 1 ? { anyOf: [named, inputSchema(only)] } : named;
}

/** Images may be encoded. */
function inputSchema(spec: TensorSpec): object {
  return takesImages(spec) ? { anyOf: [valueSchema(spec), IMAGES] } : valueSchema(spec);
}

/** A single output stands without its name. */
function outputsSchema(specs: readonly TensorSpec[] | undefined): object {
  const [only] = specs ?? [];
  if (specs === undefined || only === undefined) return {};
  return specs.length === 1 ? valueSchema(only) : namedSchema(specs);
}
