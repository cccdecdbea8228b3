/**
 * The contract of an inference server of Azure Machine Learning: `POST /score` with `{"data": [rows]}` or
 * `{"input_data": [rows]}` is answered with the list of results, `GET /` with `Healthy`.
 *
 *     kserving --driver null --hooks examples/hooks/azure-ml.ts --http-enable
 *     curl http://localhost:9001/
 *     curl http://localhost:9001/score -H 'content-type: application/json' -d '{"data": [[1, 2], [3, 4]]}'
 *
 * In the container, whose port is 5001 unless its environment names another:
 *
 *     exec kserving --http-enable --http-port 5001 --model-path "$AZUREML_MODEL_DIR" --hooks azure-ml.ts
 */
import { defineHooks, ServingError } from "kserving";
import { toColumns } from "./rows/to-columns.ts";
import { toRows } from "./rows/to-rows.ts";

export default defineHooks({
  rawRequest: [
    { path: "/", methods: ["GET"], answer: () => ({ body: "Healthy" }) },
    {
      path: "/score",
      async answer(request, ctx) {
        const { data, input_data: rows = data } = request.json() ?? {};
        if (!Array.isArray(rows) || rows.length === 0) {
          throw new ServingError("invalid_argument", 'Expected {"data": […]} with at least one row.');
        }
        const model = ctx.drivers[0]!;
        return { body: toRows(await model.predict(toColumns(rows, model.inputs))) };
      },
    },
  ],
});
