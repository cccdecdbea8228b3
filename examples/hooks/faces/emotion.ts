/** Around the emotion classifier: faces in, names of emotions out. */
import { createTensor, cropImage, type Tensor, type Tensors } from "kserving";
import type { Face } from "./blazeface.ts";

const EMOTIONS = ["angry", "disgust", "fear", "happy", "sad", "surprise", "neutral"];
const SIDE = 64;
/** Room around the face, as the model saw it in training. */
const MARGIN = 1.4;

/** Input of the classifier: one grey 64 x 64 image per face, from -1 to 1. */
export async function toEmotionInput(photo: Tensor, faces: readonly Face[]): Promise<Tensor> {
  const crops = await Promise.all(faces.map((face) => cropFace(photo, face)));
  const pixels = new Float32Array(faces.length * SIDE * SIDE);
  for (const [index, crop] of crops.entries()) {
    pixels.set(
      new Float32Array(crop.data).map((grey) => grey / 127.5 - 1),
      index * SIDE * SIDE,
    );
  }
  return createTensor("float32", [faces.length, SIDE, SIDE, 1], pixels);
}

/** The likeliest emotion of each face in what the classifier gives. */
export function toEmotions(outputs: Tensors): string[] {
  const { shape, data } = outputs.Identity as Tensor<"float32">;
  return Array.from({ length: shape[0] ?? 0 }, (_, face) => {
    const probabilities = data.subarray(face * EMOTIONS.length, (face + 1) * EMOTIONS.length);
    return EMOTIONS[probabilities.indexOf(Math.max(...probabilities))] ?? "unknown";
  });
}

function cropFace(photo: Tensor, { left, top, right, bottom }: Face) {
  const side = Math.max(right - left, bottom - top) * MARGIN;
  const box = { left: (left + right - side) / 2, top: (top + bottom - side) / 2, width: side, height: side };
  return cropImage(photo, box, { width: SIDE, height: SIDE, channels: 1 });
}
