/**
 * The contract of a container of Google's Vertex AI: a health check and predictions at the paths that its variables
 * name, `instances` in, `predictions` out.
 *
 *     kserving --driver null --hooks examples/hooks/vertex-ai.ts --http-enable
 *     curl http://localhost:9001/health
 *     curl http://localhost:9001/predict -H 'content-type: application/json' -d '{"instances": [[1, 2], [3, 4]]}'
 *
 * In the container, with the model in its image or at a path of AIP_STORAGE_URI:
 *
 *     exec kserving --http-enable --http-port "$AIP_HTTP_PORT" --model-path "$AIP_STORAGE_URI" --hooks vertex-ai.ts
 */
import { defineHooks, ServingError } from "kserving";
import { toColumns } from "./rows/to-columns.ts";
import { toRows } from "./rows/to-rows.ts";

const { AIP_HEALTH_ROUTE = "/health", AIP_PREDICT_ROUTE = "/predict" } = process.env;

export default defineHooks({
  rawRequest: [
    { path: AIP_HEALTH_ROUTE, methods: ["GET"], answer: () => ({ body: { status: "healthy" } }) },
    {
      path: AIP_PREDICT_ROUTE,
      async answer(request, ctx) {
        const { instances } = request.json() ?? {};
        if (!Array.isArray(instances) || instances.length === 0) {
          throw new ServingError("invalid_argument", 'Expected {"instances": […]} with at least one instance.');
        }
        const model = ctx.drivers[0]!;
        const outputs = await model.predict(toColumns(instances, model.inputs));
        return { body: { predictions: toRows(outputs) } };
      },
    },
  ],
});
