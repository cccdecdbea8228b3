import { type Endpoint, endpointPaths, type Paths } from "../endpoint-paths.ts";

const TEXT = { type: "string" };
const DONE = { type: "object", required: ["success"], properties: { success: TEXT } };
const PREDICTIONS = { type: "object", properties: { predictions: { type: "array" }, outputs: {} } };

const EVERYWHERE: readonly Endpoint[] = [
  { method: "GET", path: "/ping", summary: "Tell whether requests can be answered", isEmpty: true },
  {
    ...{ method: "POST", path: "/invocations", summary: "Run the first model, or that of the custom attributes" },
    description:
      "Takes JSON, lines of JSON, CSV, images, files of numpy and raw bytes, by Content-Type, and answers with JSON, CSV or files of numpy, by Accept; the header X-Amzn-SageMaker-Custom-Attributes chooses model, version and method.",
    schemas: { body: {}, answer: PREDICTIONS },
  },
];

const OF_PLATFORM: readonly Endpoint[] = [
  { method: "GET", path: "/models", summary: "List the loaded models", schemas: { answer: { type: "object" } } },
  {
    ...{ method: "POST", path: "/models", summary: "Load a model" },
    schemas: {
      body: { type: "object", required: ["model_name", "url"], properties: { model_name: TEXT, url: TEXT } },
      answer: DONE,
    },
  },
  {
    method: "GET",
    path: "/models/{name}",
    summary: "Describe a loaded model",
    schemas: { answer: { type: "object" } },
  },
  { method: "DELETE", path: "/models/{name}", summary: "Unload a model", schemas: { answer: DONE } },
  {
    ...{ method: "POST", path: "/models/{name}/invoke", summary: "Run a loaded model" },
    schemas: { body: {}, answer: PREDICTIONS },
  },
];

/** Paths of OpenAPI for the contract of SageMaker's containers; `hasPlatform` = a platform loads the models. */
export function sagemakerPaths(hasPlatform: boolean): Paths {
  return endpointPaths("SageMaker", hasPlatform ? [...EVERYWHERE, ...OF_PLATFORM] : EVERYWHERE);
}
