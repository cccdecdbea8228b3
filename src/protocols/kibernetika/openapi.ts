import { DATA_TYPES } from "../../tensor/data-types.ts";
import { type Signature, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import { jsonBody, jsonContent, modelOperationId, type Paths, refusals } from "../endpoint-paths.ts";
import { exampleValues } from "../example-values.ts";
import { namedSchema, valueSchema } from "../value-schema.ts";
import { answerSchema } from "./http-outputs.ts";

/** Paths of OpenAPI for the original proxy: `/predict/NAME` of each model, and PredictJSON. */
export function kibernetikaPaths(models: readonly (readonly [name: string, signature: Signature])[]): Paths {
  const paths: Paths = { "/serving-proxy": { post: predictJsonOperation() } };
  for (const [name, signature] of models) {
    const encoded = encodeURIComponent(name);
    const operationId = modelOperationId("proxy", name);
    paths[`/predict/${encoded}`] = { post: { operationId, tags: [name], ...predictOperation(name, signature) } };
  }
  return paths;
}

function predictOperation(name: string, signature: Signature): object {
  const { inputs, outputs } = signature;
  const body = {
    type: "object",
    ...(inputs && { required: ["inputs"] }),
    properties: {
      inputs: inputs === undefined ? ANY_INPUTS : namedSchema(inputs, { isRequired, schemaOf: inputSchema }),
      out_filter: { type: "array", items: { type: "string" }, description: "The outputs wanted; all without it" },
      out_mime_type: { type: "string", description: "Type of an answer that is the bytes of the only output" },
    },
  };
  return {
    summary: `Run the model ${name}, by the original proxy's JSON`,
    description:
      "The same path takes plain values: a list of rows, an object of columns, CSV; and forms, with fields such as byte_image and float_threshold. Accept: text/event-stream or application/x-ndjson asks for the parts of an answer, each of them such an answer.",
    requestBody: jsonBody(body, exampleBody(signature)),
    responses: {
      200: {
        description:
          "A value for each output; to plain values the likeliest classes too, where their labels are known.",
        content: jsonContent(outputs === undefined ? OBJECT : answerSchema(outputs)),
      },
      ...refusals(),
    },
  };
}

function exampleBody(signature: Signature): object | undefined {
  const values = exampleValues(signature);
  const needed = signature.inputs?.filter(isRequired);
  if (values === undefined || needed === undefined) return values;
  const toTensor = (spec: TensorSpec) => ({ dtype: takesImages(spec) ? "bytes" : spec.dtype, data: values[spec.name] });
  return { inputs: Object.fromEntries(needed.map((spec) => [spec.name, toTensor(spec)])) };
}

const OBJECT = { type: "object" };
const ANY_INPUTS = { type: "object", additionalProperties: tensorSchema({}, {}) };

function predictJsonOperation(): object {
  return {
    operationId: "proxy_json",
    tags: ["PredictJSON"],
    summary: "Give the hooks of the default model plain JSON",
    requestBody: jsonBody(OBJECT),
    responses: {
      200: { description: "What the hooks return.", content: jsonContent(OBJECT) },
      ...refusals(),
    },
  };
}

function isRequired(spec: TensorSpec): boolean {
  return spec.default === undefined;
}

/** A dtype is a name, or TensorFlow's number. */
function inputSchema(spec: TensorSpec): object {
  const numbers = DATA_TYPES.flatMap(([, number, dtype]) => (dtype === spec.dtype ? [number] : []));
  if (takesImages(spec)) return tensorSchema({ enum: [...numbers, spec.dtype, "bytes"] }, {});
  return tensorSchema({ enum: [...numbers, spec.dtype] }, valueSchema(spec));
}

function tensorSchema(dtype: object, data: object): object {
  return { type: "object", required: ["dtype", "data"], properties: { dtype, data } };
}
