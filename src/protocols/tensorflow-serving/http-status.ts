import type { HttpExchange } from "../../proxy/http-exchange.ts";
import type { HttpAnswer, HttpRoute } from "../../proxy/http-route.ts";
import type { InferenceService } from "../../serving/inference-service.ts";
import { malformedRequest } from "./malformed-request.ts";
import { modelStatus } from "./model-status.ts";
import { toModelRef } from "./url-model-ref.ts";

/** The whole URL, query string included: `/v1/models/NAME[/versions/V | /labels/L]`. */
const STATUS = /^\/v1\/models\/([^/:?]+)(?:\/versions\/(\d+)|\/labels\/([^/:?]+))?\/?(?:\?|$)/i;

/** The routes that tell the states of a model's versions. */
export function statusRoutes(service: InferenceService): readonly HttpRoute[] {
  const answer = (exchange: HttpExchange) => answerStatus(service, exchange);
  const paths = ["/v1/models/:name", "/v1/models/:name/versions/:version", "/v1/models/:name/labels/:label"];
  return paths.map((path) => ({ method: "GET", path, kind: "read", answer }));
}

async function answerStatus(service: InferenceService, { request, record }: HttpExchange): Promise<HttpAnswer> {
  const match = STATUS.exec(request.url ?? "");
  if (match === null) throw malformedRequest(request);
  const ref = toModelRef(match);
  record.model = ref.model;
  // With the original's white space.
  const text = `${JSON.stringify(modelStatus(service, ref), null, 1)}\n`;
  return { contentType: "application/json", body: Buffer.from(text) };
}
