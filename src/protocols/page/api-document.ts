import type { InferenceService } from "../../serving/inference-service.ts";
import { describeAll } from "../kserve/describe-all.ts";
import { KSERVE_ENDPOINTS } from "../kserve/http-endpoints.ts";
import { type OpenApiDocument, openApiDocument, refusals } from "../kserve/openapi.ts";
import { tensorflowPaths } from "../tensorflow-serving/openapi.ts";

/** The OpenAPI document of the page: KServe V2, and TensorFlow Serving's REST of every model that is ready. */
export async function apiDocument(service: InferenceService): Promise<OpenApiDocument> {
  const document = await openApiDocument(KSERVE_ENDPOINTS, service);
  const tensorflow = tensorflowPaths(await describeAll(service), refusals());
  return {
    ...document,
    info: { ...document.info, title: "kserving" },
    paths: { ...tensorflow, ...document.paths },
  };
}
