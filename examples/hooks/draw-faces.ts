/**
 * A photo in, the same photo out with a frame around each face. `contentType` makes the HTTP answer the image itself.
 *
 *     npx tsx scripts/make-demo-models.ts
 *     kserving --driver onnx --model-path .cache/demo/blazeface.onnx --hooks examples/hooks/draw-faces.ts --http-enable
 *     curl http://localhost:9001/predict -F bytes_image=@examples/photos/portrait.jpg --output faces.jpg
 */
import { decodeImage, defineHooks, drawBoxes, encodeImage, type Tensor } from "kserving";
import { PHOTO } from "./faces/answer.ts";
import { toDetectorInput, toFaces } from "./faces/blazeface.ts";

interface State {
  photo: Tensor;
}

export default defineHooks<State>({
  inputs: PHOTO,
  outputs: [{ name: "image", dtype: "bytes", shape: [] }],

  async preprocess(inputs, ctx) {
    ctx.photo = await decodeImage(inputs.image);
    return { input: await toDetectorInput(ctx.photo) };
  },

  async postprocess(outputs, ctx) {
    const photo = ctx.photo as Tensor;
    const boxes = toFaces(outputs, photo).map((face) => ({ ...face, label: `${Math.round(100 * face.score)} %` }));
    ctx.response.contentType = "image/jpeg";
    return { image: await encodeImage(await drawBoxes(photo, boxes), { format: "jpeg", quality: 90 }) };
  },
});
