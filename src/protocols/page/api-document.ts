import type { InferenceService } from "../../serving/inference-service.ts";
import { kibernetikaPaths } from "../kibernetika/openapi.ts";
import { describeAll } from "../kserve/describe-all.ts";
import { KSERVE_ENDPOINTS } from "../kserve/http-endpoints.ts";
import { type OpenApiDocument, openApiDocument, refusals } from "../kserve/openapi.ts";
import { tensorflowPaths } from "../tensorflow-serving/openapi.ts";

/** The OpenAPI document of the page: KServe V2, and TensorFlow Serving's REST and the original proxy of every model that is ready. */
export async function apiDocument(service: InferenceService): Promise<OpenApiDocument> {
  const document = await openApiDocument(KSERVE_ENDPOINTS, service);
  const models = await describeAll(service);
  const others = { ...tensorflowPaths(models, refusals()), ...kibernetikaPaths(models, refusals()) };
  return {
    ...document,
    info: { ...document.info, title: "kserving" },
    paths: { ...others, ...document.paths },
  };
}
