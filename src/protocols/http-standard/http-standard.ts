import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Endpoint } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";

/** `GET /health`, for load balancers. */
export const httpHealth: Protocol = {
  name: "http-health",
  http: ({ service, settings }) => ({
    inference: [],
    routes: [healthRoute(service, settings.simpleTensorflowServing)],
  }),
};

/** Its description for OpenAPI. */
export const HEALTH_ENDPOINT: Endpoint = {
  ...{ method: "GET", path: "/health", summary: "Tell whether requests can be answered" },
  schemas: {
    answer: { type: "object", required: ["status"], properties: { status: { enum: ["ok", "unavailable"] } } },
  },
};

/** 200 while requests can be answered, else 503; in text if Simple TensorFlow Serving is meant. */
function healthRoute(service: InferenceService, isText: boolean): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const isReady = service.isReady();
    if (isText) return healthText(isReady);
    const body = Buffer.from(JSON.stringify({ status: isReady ? "ok" : "unavailable" }));
    return { status: isReady ? 200 : 503, contentType: "application/json", body };
  };
  return { method: "GET", path: "/health", kind: "health", answer };
}

function healthText(isReady: boolean): HttpAnswer {
  const body = Buffer.from(isReady ? "healthy" : "unavailable");
  return { status: isReady ? 200 : 503, contentType: "text/plain; charset=utf-8", body };
}
