import { DATA_TYPES } from "../../tensor/data-types.ts";
import { type Signature, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import { jsonContent, type Paths, refusals } from "../endpoint-paths.ts";
import { exampleValues } from "../example-values.ts";
import { namedSchema, valueSchema } from "../value-schema.ts";

type Named = readonly [name: string, signature: Signature];

/** Paths of OpenAPI for the original proxy: `/predict/NAME` of each model, and PredictJSON. */
export function kibernetikaPaths(models: readonly Named[]): Paths {
  const paths: Paths = { "/serving-proxy": { post: predictJson() } };
  for (const [name, signature] of models) {
    const encoded = encodeURIComponent(name);
    const operationId = `proxy_${encoded.replace(/[^A-Za-z0-9]/g, "_")}`;
    paths[`/predict/${encoded}`] = { post: { operationId, tags: [name], ...predict(name, signature) } };
  }
  return paths;
}

function predict(name: string, signature: Signature): object {
  const { inputs, outputs } = signature;
  const body = {
    type: "object",
    required: ["inputs"],
    properties: {
      inputs: inputs === undefined ? ANY_INPUTS : namedSchema(inputs, { isRequired, schemaOf: inputSchema }),
      out_filter: { type: "array", items: { type: "string" }, description: "The outputs wanted; all without it" },
      out_mime_type: { type: "string", description: "Type of an answer that is the bytes of the only output" },
    },
  };
  return {
    summary: `Run the model ${name}, by the original proxy's JSON`,
    description: "The same path takes forms, with fields such as byte_image and float_threshold.",
    requestBody: { required: true, content: jsonContent(body, exampleBody(signature)) },
    responses: {
      200: {
        description: "A value for each output.",
        content: jsonContent(outputs === undefined ? OBJECT : namedSchema(outputs)),
      },
      ...refusals(),
    },
  };
}

function exampleBody(signature: Signature): object | undefined {
  const values = exampleValues(signature);
  const needed = signature.inputs?.filter(isRequired);
  if (values === undefined || needed === undefined || needed.some(takesImages)) return undefined;
  return { inputs: Object.fromEntries(needed.map(({ name, dtype }) => [name, { dtype, data: values[name] }])) };
}

function predictJson(): object {
  return {
    operationId: "proxy_json",
    tags: ["PredictJSON"],
    summary: "Give the hooks of the default model plain JSON",
    requestBody: { required: true, content: jsonContent(OBJECT) },
    responses: {
      200: { description: "What the hooks return.", content: jsonContent(OBJECT) },
      ...refusals(),
    },
  };
}

const OBJECT = { type: "object" };
const ANY_INPUTS = { type: "object", additionalProperties: tensorSchema({}, {}) };

function isRequired(spec: TensorSpec): boolean {
  return spec.default === undefined;
}

/** A dtype is a name, or TensorFlow's number. */
function inputSchema(spec: TensorSpec): object {
  const numbers = DATA_TYPES.flatMap(([, number, dtype]) => (dtype === spec.dtype ? [number] : []));
  return tensorSchema({ enum: [...numbers, spec.dtype] }, valueSchema(spec));
}

function tensorSchema(dtype: object, data: object): object {
  return { type: "object", required: ["dtype", "data"], properties: { dtype, data } };
}
