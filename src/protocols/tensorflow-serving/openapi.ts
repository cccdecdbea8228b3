import type { Signature, TensorSpec } from "../../signature/signature.ts";
import { namedSchema, valueSchema } from "../value-schema.ts";

type Named = readonly [name: string, signature: Signature];
/** Operations of a path by method. */
type Paths = Record<string, Readonly<Record<string, object>>>;

/** Paths of OpenAPI for TensorFlow Serving's REST: `predict` of each model, values as nested lists of its shapes. `refusals`: the answers that are errors. */
export function tensorflowPaths(models: readonly Named[], refusals: object): Paths {
  const paths: Paths = {};
  for (const [name, signature] of models) {
    const path = `/v1/models/${encodeURIComponent(name)}:predict`;
    const operationId = `predict_${encodeURIComponent(name).replace(/[^A-Za-z0-9]/g, "_")}`;
    paths[path] = { post: { operationId, tags: [name], ...predictOperation(name, signature, refusals) } };
  }
  return paths;
}

function predictOperation(name: string, { inputs, outputs }: Signature, refusals: object): object {
  const body = {
    type: "object",
    required: ["inputs"],
    properties: { signature_name: TEXT, inputs: inputsSchema(inputs) },
  };
  const answer = { type: "object", required: ["outputs"], properties: { outputs: outputsSchema(outputs) } };
  return {
    summary: `Run the model ${name}, by TensorFlow Serving's REST`,
    description: 'Bytes that are not text are {"b64": "…"}. Instead of inputs there may be instances, a list of rows.',
    requestBody: { required: true, content: { "application/json": { schema: body } } },
    responses: {
      200: { description: "The outputs.", content: { "application/json": { schema: answer } } },
      ...refusals,
    },
  };
}

const TEXT = { type: "string" };

/** A single input may stand without its name. */
function inputsSchema(specs: readonly TensorSpec[] | undefined): object {
  if (specs === undefined) return {};
  const named = namedSchema(specs, { isRequired: ({ default: value }) => value === undefined });
  const [only] = specs;
  return only !== undefined && specs.length === 1 ? { anyOf: [named, valueSchema(only)] } : named;
}

/** A single output stands without its name. */
function outputsSchema(specs: readonly TensorSpec[] | undefined): object {
  const [only] = specs ?? [];
  if (specs === undefined || only === undefined) return {};
  return specs.length === 1 ? valueSchema(only) : namedSchema(specs);
}
