import express, { type Express } from "express";
import { createHealthRoute } from "./health-route.ts";
import { createErrorMiddleware, HttpError } from "./http-errors.ts";
import type { HttpDependencies } from "./http-route.ts";
import type { InferenceRouter } from "./inference-router.ts";

/** What there is, for those who ask for something else. */
const ROUTES = [
  "POST /predict[/MODEL[/SIGNATURE[/VERSION]]]",
  "POST /serving-proxy",
  "POST /v1/models/MODEL[/versions/VERSION]:predict",
  "POST /v2/models/MODEL[/versions/VERSION]/infer",
  "GET /v2/models/MODEL",
  "GET /health",
];

/** All routes as an Express application, which does not listen. */
export function createApp(route: InferenceRouter, dependencies: HttpDependencies): Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.use((request, response, next) => {
    if (!route(request, response)) next();
  });
  app.get("/health", createHealthRoute(dependencies.service));
  app.use((request) => {
    throw new HttpError(404, `There is no ${request.method} ${request.path} here. There is ${ROUTES.join(", ")}.`);
  });
  app.use(createErrorMiddleware(dependencies.log));
  return app;
}
