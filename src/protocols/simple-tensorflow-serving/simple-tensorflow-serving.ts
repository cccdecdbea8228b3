import type { HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { readVersion } from "../../version.ts";
import type { Protocol } from "../protocol.ts";
import { answerInference } from "./answer-inference.ts";
import { clientRoutes } from "./client-routes.ts";

const ROOT = /^\/(?:\?|$)/;

/** Simple TensorFlow Serving's front door: `POST /` with JSON or a form, and generated clients. */
export const simpleTensorflowServing: Protocol = {
  name: "simple-tensorflow-serving",
  http: ({ service }) => ({
    inference: [
      {
        path: "/",
        find: (url) => (ROOT.test(url) ? (exchange) => answerInference(service, exchange) : undefined),
      },
    ],
    routes: [indexRoute(service), ...clientRoutes(service)],
  }),
};

/** Lists the models in plain text, where the original has its dashboard. */
function indexRoute(service: InferenceService): HttpRoute {
  const answer: HttpRoute["answer"] = async () => {
    const models = service.index().map(({ model, version, state }) => `${model} ${version} ${state}\n`);
    const text = `kserving ${readVersion()}\n${models.join("")}POST / runs a model: docs/simple-tensorflow-serving.md\n`;
    return { contentType: "text/plain; charset=utf-8", body: Buffer.from(text) };
  };
  return { method: "GET", path: "/", kind: "read", answer };
}
