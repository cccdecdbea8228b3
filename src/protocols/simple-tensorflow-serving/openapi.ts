import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";

const ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ method: "POST", path: "/", summary: "Run the model that the body names" },
    description: "The same path takes forms, with files in the fields image and images.",
    schemas: {
      body: {
        type: "object",
        required: ["data"],
        properties: {
          model_name: { type: "string", description: "Default: the model default, or the only one" },
          model_version: { type: ["integer", "string"] },
          signature_name: { type: "string" },
          data: { description: "An object with a value for each input, or the value of the only one" },
        },
      },
      answer: { type: "object" },
    },
  },
  {
    ...{ method: "GET", path: "/v1/models/{name}/gen_json", summary: "Make an example of a request's data" },
    schemas: { answer: { type: "object", required: ["data"], properties: { data: { type: "object" } } } },
  },
  {
    ...{ method: "GET", path: "/v1/models/{name}/gen_client", summary: "Make a program that sends such a request" },
    description: "?language= is bash (default), python, golang, javascript, typescript, java or json.",
    contentType: "text/plain",
  },
];

/** Paths of OpenAPI for Simple TensorFlow Serving. */
export function simpleTensorflowServingPaths(): Paths {
  return endpointPaths("Simple TensorFlow Serving", ENDPOINTS);
}
