import type { HttpDependencies, HttpRoute, InferenceRoute, RouteHandler } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import type { Protocol } from "../protocol.ts";
import { invokeChosen, invokeNamed } from "./invoke-named.ts";
import { modelRoutes } from "./model-routes.ts";

const INVOCATIONS = /^\/invocations\/?(?:\?|$)/;

/**
 * The contract of a container that serves models under Amazon SageMaker: `GET /ping` and `POST /invocations`, and
 * `/models` where the platform loads the models.
 */
export const sagemaker: Protocol = {
  name: "sagemaker",
  http: (dependencies) => {
    const { service, platform, grpcPort } = dependencies;
    const ping = pingRoute(service);
    if (platform === undefined) return { inference: [invocations(dependencies)], routes: [ping] };
    return {
      inference: [invocations(dependencies), invokeNamed(platform, dependencies)],
      routes: [ping, ...modelRoutes({ service, platform, grpcPort })],
    };
  },
};

function invocations(dependencies: HttpDependencies): InferenceRoute {
  const { platform, hasPlatformElsewhere = platform !== undefined } = dependencies;
  const answer: RouteHandler = async (exchange) => {
    if (hasPlatformElsewhere) return invokeChosen(exchange, dependencies);
    const { invoke } = await import("./invoke.ts");
    return invoke(exchange, dependencies);
  };
  return { path: "/invocations", find: (url) => (INVOCATIONS.test(url) ? answer : undefined) };
}

/** Answers 200 without a body while requests can be answered, else 502. */
function pingRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const status = service.isReady() ? 200 : 502;
    return { status, contentType: "application/json", body: Buffer.alloc(0) };
  };
  return { method: "GET", path: "/ping", kind: "health", answer };
}
