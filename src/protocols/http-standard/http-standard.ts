import type { HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Protocol } from "../protocol.ts";

/** `GET /health`, for load balancers. */
export const httpHealth: Protocol = {
  name: "http-health",
  http: ({ service }) => ({ inference: [], routes: [healthRoute(service)] }),
};

/** 200 while requests can be answered, else 503. */
function healthRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const isReady = service.isReady();
    const body = Buffer.from(JSON.stringify({ status: isReady ? "ok" : "unavailable" }));
    return { status: isReady ? 200 : 503, contentType: "application/json", body };
  };
  return { method: "GET", path: "/health", kind: "health", answer };
}
