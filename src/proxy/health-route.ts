import type { RequestHandler } from "express";
import type { InferenceService } from "../serving/inference-service.ts";

/** `GET /health`: 200 while requests can be answered, else 503. */
export function createHealthRoute(service: InferenceService): RequestHandler {
  return (_request, response) => {
    const isReady = service.isReady();
    response.status(isReady ? 200 : 503).json({ status: isReady ? "ok" : "unavailable" });
  };
}
