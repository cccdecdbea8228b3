/**
 * Two models in a row: the first finds faces in a photo, the second says what each face feels.
 * A photo without faces never reaches the second model.
 *
 *     npx tsx scripts/make-demo-models.ts
 *     kserving --driver onnx --model-path .cache/demo/blazeface.onnx \
 *              --driver onnx --model-path .cache/demo/emotion.onnx \
 *              --hooks examples/hooks/faces-to-emotions.ts --http-enable
 *     curl http://localhost:9001/predict -F bytes_image=@examples/photos/portrait.jpg
 */
import { decodeImage, defineHooks, type HookContext, type Tensor, type Tensors } from "kserving";
import { FACES, PHOTO, toAnswer } from "./faces/answer.ts";
import { type Face, toDetectorInput, toFaces } from "./faces/blazeface.ts";
import { toEmotionInput, toEmotions } from "./faces/emotion.ts";

/** Values that one request keeps from step to step. */
interface State {
  photo: Tensor;
  faces: Face[];
  skip_next: boolean;
}

async function beforeDetector(inputs: Tensors, ctx: HookContext<State>) {
  ctx.photo = await decodeImage(inputs.image);
  return { input: await toDetectorInput(ctx.photo) };
}

function afterDetector(outputs: Tensors, ctx: HookContext<State>) {
  ctx.faces = toFaces(outputs, ctx.photo as Tensor);
  ctx.skip_next = ctx.faces.length === 0;
  return {};
}

async function beforeEmotion(_: Tensors, ctx: HookContext<State>) {
  if (ctx.skip_next) return { "ml-serving-ignore": true };
  return { input_1: await toEmotionInput(ctx.photo as Tensor, ctx.faces ?? []) };
}

function afterEmotion(outputs: Tensors, ctx: HookContext<State>) {
  return ctx.skip_next ? toAnswer([], []) : toAnswer(ctx.faces ?? [], toEmotions(outputs));
}

export default defineHooks<State>({
  inputs: PHOTO,
  outputs: FACES,
  preprocess: [beforeDetector, beforeEmotion],
  postprocess: [afterDetector, afterEmotion],
});
