import { type TensorSpec, takesImages, toSize } from "../../signature/signature.ts";
import { flatSchema, nestedSchema } from "../value-schema.ts";
import { DATATYPE_NAMES, datatypeOf } from "./datatype.ts";
import { exampleInput } from "./openapi-example.ts";

/** The JSON content of a request, with an example where all inputs are known, and short enough to be read. */
export function requestContent(specs: readonly TensorSpec[] | undefined): object {
  const inputs = specs?.map(exampleInput);
  const isShort = inputs !== undefined && inputs.length > 0 && inputs.every((input) => input !== undefined);
  return { "application/json": { schema: requestSchema(specs), ...(isShort && { example: { inputs } }) } };
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
export function responseSchema(specs: readonly TensorSpec[] | undefined): object {
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
