import { type Signature, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import {
  type Endpoint,
  endpointPaths,
  jsonBody,
  jsonContent,
  modelOperationId,
  type Paths,
  refusals,
} from "../endpoint-paths.ts";
import { exampleValues } from "../example-values.ts";
import { flatSchema, namedSchema, nestedSchema, valueSchema } from "../value-schema.ts";
import { serializedInput } from "./examples/example-inputs.ts";
import { type ExampleMethod, namedOutputs } from "./examples/results.ts";

type Named = readonly [name: string, signature: Signature];

/** The endpoints that tell of models. */
const ENDPOINTS: readonly Endpoint[] = [
  { method: "GET", path: "/v1/models", summary: "List the models, with the members of OpenAI's API too" },
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
    const operationId = modelOperationId("predict", name);
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
    description:
      'Bytes that are not text are {"b64": "…"}. Instead of inputs there may be instances, a list of rows. Accept: text/event-stream or application/x-ndjson asks for the parts of an answer, each of them such an answer.',
    requestBody: jsonBody(body, values && { inputs: values }),
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

const RESULTS: Readonly<Record<ExampleMethod, object>> = {
  classify: { type: "array", items: { type: "array", items: { type: ["string", "number"] } } },
  regress: { type: "number" },
};
const MEANINGS: Readonly<Record<ExampleMethod, string>> = {
  classify: "For each example a list of [label, score].",
  regress: "A number for each example.",
};

/** Paths of OpenAPI for `:classify` and `:regress` of each model whose outputs may be such results. */
function examplePaths(models: readonly Named[]): Paths {
  const paths: Paths = {};
  for (const [name, signature] of models)
    for (const method of ["classify", "regress"] as const) {
      if (!mayGive(method, signature)) continue;
      const path = `/v1/models/${encodeURIComponent(name)}:${method}`;
      paths[path] = {
        post: {
          operationId: modelOperationId(method, name),
          tags: [name],
          ...exampleOperation(name, method, signature),
        },
      };
    }
  return paths;
}

function exampleOperation(name: string, method: ExampleMethod, signature: Signature): object {
  const example = featuresSchema(signature);
  const body = {
    type: "object",
    required: ["examples"],
    properties: { signature_name: TEXT, context: example, examples: { type: "array", items: example } },
  };
  const answer = {
    type: "object",
    required: ["results"],
    properties: { results: { type: "array", items: RESULTS[method] } },
  };
  return {
    summary: `Run the model ${name} on examples, by TensorFlow Serving's REST: ${method}`,
    description: "An example has a value, or a list of them, for each feature; context has features of all examples.",
    requestBody: jsonBody(body, exampleBody(signature)),
    responses: { 200: { description: MEANINGS[method], content: jsonContent(answer) }, ...refusals() },
  };
}

/** One example, with the first row of each feature. */
function exampleBody(signature: Signature): object | undefined {
  if (serializedInput(signature) !== undefined || signature.inputs?.some(takesImages)) return undefined;
  const values = exampleValues(signature);
  if (values === undefined) return undefined;
  const firstRow = (value: unknown) => [Array.isArray(value) ? value[0] : value].flat(Number.POSITIVE_INFINITY);
  return { examples: [Object.fromEntries(Object.entries(values).map(([name, value]) => [name, firstRow(value)]))] };
}

/** A model that takes serialised examples does not say which features they have. */
function featuresSchema(signature: Signature): object {
  const { inputs } = signature;
  if (inputs === undefined || serializedInput(signature) !== undefined) return { type: "object" };
  return namedSchema(inputs, { isRequired: () => false, schemaOf: featureSchema });
}

/** Bytes may be a text, or base64. */
function featureSchema(spec: TensorSpec): object {
  if (spec.dtype === "bytes") return {};
  return { anyOf: [nestedSchema({ dtype: spec.dtype, shape: [] }), flatSchema({ dtype: spec.dtype })] };
}

/** Outputs that are not known may be anything; those of estimators seldom are such results. */
function mayGive(method: ExampleMethod, signature: Signature): boolean {
  const { outputs, isTabular = false } = signature;
  if (outputs === undefined) return !isTabular;
  if (namedOutputs(method, signature) !== undefined) return true;
  return outputs.filter((output) => output.dtype === "float32" && hasResultShape(method, output)).length === 1;
}

function hasResultShape(method: ExampleMethod, { shape }: TensorSpec): boolean {
  if (shape === undefined) return true;
  if (method === "classify") return shape.length === 2;
  return shape.length === 1 || (shape.length === 2 && (shape[1] === 1 || shape[1] === -1));
}
