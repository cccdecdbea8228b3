import { HttpError } from "../../proxy/http-errors.ts";
import { jsonAnswer } from "../text-answer.ts";
import type { KserveEndpoint } from "./http-endpoint.ts";
import { MODEL_ENDPOINTS } from "./http-model-endpoints.ts";
import { REGION_ENDPOINTS } from "./http-region-endpoints.ts";
import { REPOSITORY_ENDPOINTS } from "./http-repository-endpoints.ts";
import { SETTINGS_ENDPOINTS } from "./http-settings-endpoints.ts";
import { modelStatistics } from "./model-statistics.ts";
import { openApiDocument } from "./openapi.ts";
import { LIVE_SCHEMAS, MODELS_SCHEMAS, READY_SCHEMAS, SERVER_SCHEMAS } from "./openapi-schemas.ts";
import { serverMetadata } from "./server-metadata.ts";

/** All endpoints under `/v2`, in the order in which paths are matched. */
export const KSERVE_ENDPOINTS: readonly KserveEndpoint[] = [
  {
    method: "GET",
    kind: "read",
    path: "/v2",
    summary: "Describe the server",
    schemas: SERVER_SCHEMAS,
    answer: async ({ sharedMemory }) => jsonAnswer(serverMetadata(sharedMemory !== undefined)),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/openapi.json",
    summary: "Get this document",
    answer: async ({ service }) => jsonAnswer(await openApiDocument(KSERVE_ENDPOINTS, service)),
  },
  {
    method: "GET",
    kind: "health",
    path: "/v2/health/live",
    summary: "Tell whether the server lives",
    schemas: LIVE_SCHEMAS,
    answer: async () => jsonAnswer({ live: true }),
  },
  {
    method: "GET",
    kind: "health",
    path: "/v2/health/ready",
    summary: "Tell whether the server is ready",
    schemas: READY_SCHEMAS,
    answer: async ({ service }) => {
      if (!service.isReady()) throw new HttpError(400, "Server is not ready");
      return jsonAnswer({ ready: true });
    },
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/models",
    summary: "List the models",
    schemas: MODELS_SCHEMAS,
    answer: async ({ service }) => jsonAnswer({ models: [...new Set(service.index().map(({ model }) => model))] }),
  },
  {
    method: "GET",
    kind: "read",
    path: "/v2/models/stats",
    summary: "Get the statistics of all models",
    answer: async ({ service }) => jsonAnswer({ model_stats: await modelStatistics(service, { model: "" }) }),
  },
  ...["/v2/models/{name}", "/v2/models/{name}/versions/{version}"].flatMap((prefix) =>
    MODEL_ENDPOINTS.map((endpoint) => ({ ...endpoint, path: prefix + endpoint.path })),
  ),
  ...REPOSITORY_ENDPOINTS,
  ...SETTINGS_ENDPOINTS,
  ...REGION_ENDPOINTS,
];
