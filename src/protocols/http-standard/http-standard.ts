import { isChosenProtocol } from "../../platform/limits/settings/protocol-settings.ts";
import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Endpoint } from "../endpoint-paths.ts";
import type { Protocol } from "../protocol.ts";
import { llmsText } from "./llms-text.ts";

/** `GET /health`, for load balancers, and `GET /llms.txt`, for programs that write programs. */
export const httpHealth: Protocol = {
  name: "http-health",
  http: ({ service, settings, page }) => ({
    inference: [],
    routes: [
      healthRoute(service, settings.simpleTensorflowServing),
      llmsRoute(service, {
        page: page !== undefined,
        mcp: settings.mcp,
        serves: (protocol) => isChosenProtocol(protocol, settings.servedProtocols),
      }),
    ],
  }),
};

function llmsRoute(service: InferenceService, has: Parameters<typeof llmsText>[1]): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const body = Buffer.from(await llmsText(service, has));
    return { contentType: "text/plain; charset=utf-8", body, headers: { "cache-control": "no-store" } };
  };
  return { method: "GET", path: "/llms.txt", kind: "read", answer };
}

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
