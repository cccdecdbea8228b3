import type { HttpDependencies } from "../../proxy/http-route.ts";
import { type Endpoint, endpointPaths, withOwnIds } from "../endpoint-paths.ts";
import { kibernetikaPaths } from "../kibernetika/openapi.ts";
import { describeAll } from "../kserve/describe-all.ts";
import { KSERVE_ENDPOINTS } from "../kserve/http-endpoints.ts";
import { type OpenApiDocument, openApiDocument } from "../kserve/openapi.ts";
import { sagemakerPaths } from "../sagemaker/openapi.ts";
import { simpleTensorflowServingPaths } from "../simple-tensorflow-serving/openapi.ts";
import { tensorflowPaths } from "../tensorflow-serving/openapi.ts";

/** Endpoints of protocols that have no other. */
const OF_SERVER: readonly Endpoint[] = [
  {
    ...{ method: "GET", path: "/health", summary: "Tell whether requests can be answered" },
    schemas: {
      answer: { type: "object", required: ["status"], properties: { status: { enum: ["ok", "unavailable"] } } },
    },
  },
  { method: "GET", path: "/metrics", summary: "Get the metrics, for Prometheus", contentType: "text/plain" },
];

/** The OpenAPI document of the page: the calls of every protocol over HTTP, and those of every model that is ready. */
export async function apiDocument({
  service,
  platform,
}: Pick<HttpDependencies, "service" | "platform">): Promise<OpenApiDocument> {
  const document = await openApiDocument(KSERVE_ENDPOINTS, service);
  const models = await describeAll(service);
  const paths = {
    ...tensorflowPaths(models),
    ...kibernetikaPaths(models),
    ...document.paths,
    ...sagemakerPaths(platform !== undefined),
    ...simpleTensorflowServingPaths(),
    ...endpointPaths("Server", OF_SERVER),
  };
  return { ...document, info: { ...document.info, title: "kserving" }, paths: withOwnIds(paths) };
}
