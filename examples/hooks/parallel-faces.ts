/**
 * One `process` hook in place of the automatic chain: it runs the models itself, here one call per face, all at the
 * same time. The answer is that of faces-to-emotions.ts.
 *
 *     npx tsx scripts/make-demo-models.ts
 *     kserving --driver onnx --model-path .cache/demo/blazeface.onnx \
 *              --driver onnx --model-path .cache/demo/emotion.onnx \
 *              --hooks examples/hooks/parallel-faces.ts --http-enable
 *     curl http://localhost:9001/predict -F bytes_image=@examples/photos/portrait.jpg
 */
import { decodeImage, defineHooks, type StageHandle } from "kserving";
import { FACES, PHOTO, toAnswer } from "./faces/answer.ts";
import { toDetectorInput, toFaces } from "./faces/blazeface.ts";
import { toEmotionInput, toEmotions } from "./faces/emotion.ts";

export default defineHooks({
  inputs: PHOTO,
  outputs: FACES,

  async process(inputs, ctx) {
    const [detector, classifier] = ctx.drivers as readonly [StageHandle, StageHandle];
    const photo = await decodeImage(inputs.image);
    const faces = toFaces(await detector.predict({ input: await toDetectorInput(photo) }), photo);
    const emotions = await Promise.all(
      faces.map(async (face) => toEmotions(await classifier.predict({ input_1: await toEmotionInput(photo, [face]) }))),
    );
    return toAnswer(faces, emotions.flat());
  },
});
