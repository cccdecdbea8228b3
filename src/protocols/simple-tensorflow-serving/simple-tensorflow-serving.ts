import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { readVersion } from "../../version.ts";
import type { Protocol } from "../protocol.ts";
import { clientRoutes } from "./client-routes.ts";

const ROOT = /^\/(?:\?|$)/;

/** Simple TensorFlow Serving's front door: `POST /` with JSON or a form, and generated clients. */
export const simpleTensorflowServing: Protocol = {
  name: "simple-tensorflow-serving",
  http: ({ service, policy }) => ({
    inference: [
      {
        path: "/",
        find: (url) => (ROOT.test(url) ? (exchange) => infer(service, exchange) : undefined),
      },
    ],
    routes: [indexRoute(service), ...clientRoutes(service, policy)],
  }),
};

/** Most servers have no such clients: the code is imported with the first. */
async function infer(service: InferenceService, exchange: HttpExchange): Promise<HttpAnswer> {
  const { answerInference } = await import("./answer-inference.ts");
  return answerInference(service, exchange);
}

/** Lists the models in plain text, where the original has its dashboard. */
function indexRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const models = service.index().map(({ model, version, state }) => `${model} ${version} ${state}\n`);
    const text = `kserving ${readVersion()}\n${models.join("")}POST / runs a model: docs/simple-tensorflow-serving.md\n`;
    return { contentType: "text/plain; charset=utf-8", body: Buffer.from(text) };
  };
  return { method: "GET", path: "/", kind: "read", answer };
}
