import { type Signature, type TensorSpec, takesImages } from "../../../tensor/signature/signature.ts";
import { jsonContent, operationIdOf, type Paths, refusals } from "../../endpoint-paths.ts";
import { exampleValues } from "../../example-values.ts";
import { flatSchema, namedSchema, nestedSchema } from "../../value-schema.ts";
import { serializedInput } from "./example-inputs.ts";
import { type ExampleMethod, namedOutputs } from "./results.ts";

const RESULTS: Readonly<Record<ExampleMethod, object>> = {
  classify: { type: "array", items: { type: "array", items: { type: ["string", "number"] } } },
  regress: { type: "number" },
};
const MEANINGS: Readonly<Record<ExampleMethod, string>> = {
  classify: "For each example a list of [label, score].",
  regress: "A number for each example.",
};

/** Paths of OpenAPI for `:classify` and `:regress` of each model whose outputs may be such results. */
export function examplePaths(models: readonly (readonly [name: string, signature: Signature])[]): Paths {
  const paths: Paths = {};
  for (const [name, signature] of models)
    for (const method of ["classify", "regress"] as const) {
      if (!mayGive(method, signature)) continue;
      const path = `/v1/models/${encodeURIComponent(name)}:${method}`;
      paths[path] = {
        post: { operationId: operationIdOf("post", path), tags: [name], ...operation(name, method, signature) },
      };
    }
  return paths;
}

function operation(name: string, method: ExampleMethod, signature: Signature): object {
  const example = featuresSchema(signature);
  const body = {
    type: "object",
    required: ["examples"],
    properties: { signature_name: { type: "string" }, context: example, examples: { type: "array", items: example } },
  };
  const answer = {
    type: "object",
    required: ["results"],
    properties: { results: { type: "array", items: RESULTS[method] } },
  };
  return {
    summary: `Run the model ${name} on examples, by TensorFlow Serving's REST: ${method}`,
    description: "An example has a value, or a list of them, for each feature; context has features of all examples.",
    requestBody: { required: true, content: jsonContent(body, exampleBody(signature)) },
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

/** Outputs that are not known may be anything. */
function mayGive(method: ExampleMethod, signature: Signature): boolean {
  const { outputs } = signature;
  if (outputs === undefined || namedOutputs(method, signature) !== undefined) return true;
  return outputs.filter((output) => output.dtype === "float32" && hasResultShape(method, output)).length === 1;
}

function hasResultShape(method: ExampleMethod, { shape }: TensorSpec): boolean {
  if (shape === undefined) return true;
  if (method === "classify") return shape.length === 2;
  return shape.length === 1 || (shape.length === 2 && (shape[1] === 1 || shape[1] === -1));
}
