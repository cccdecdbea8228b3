/**
 * The progress of a long job, as events: a browser reads them by `fetch`, curl with `-N`. The model runs with one row
 * of the body after the other, and is left when the client leaves.
 *
 *     kserving --driver onnx --model-path test/fixtures/models/half-plus-two.onnx \
 *              --hooks examples/hooks/progress.ts --http-enable
 *     curl -N http://localhost:9001/jobs -d '[1, 2, 3]'
 *
 * A comment every 15 seconds comes by itself while no event does.
 */
import { defineHooks, type RawEvent, ServingError, tensorOf } from "kserving";

export default defineHooks({
  rawRequest: {
    path: "/jobs",
    answer(request, ctx) {
      const rows: unknown = request.json();
      if (!Array.isArray(rows) || rows.length === 0)
        throw new ServingError("invalid_argument", "Expected a list of numbers with at least one.");
      return run(rows, async (row) => {
        const answer = await ctx.drivers[0]!.predict({ x: [row] });
        return tensorOf(answer, "y", "float32").data[0] as number;
      });
    },
  },
});

async function* run(rows: readonly number[], model: (row: number) => Promise<number>): AsyncGenerator<RawEvent> {
  const results: number[] = [];
  yield { event: "begun", data: { of: rows.length } };
  for (const [index, row] of rows.entries()) {
    results.push(await model(row));
    yield { event: "progress", id: String(index + 1), data: { done: index + 1, of: rows.length } };
  }
  yield { event: "result", data: { results } };
}
