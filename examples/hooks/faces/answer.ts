/** Answer of the face services: one row per face. */
import { createTensor, type TensorSpec, type Tensors } from "kserving";
import type { Face } from "./blazeface.ts";

/**
 * For `inputs` of the hooks: clients learn it from the metadata, and what does not fit is refused before any hook runs.
 */
export const PHOTO: TensorSpec[] = [{ name: "image", dtype: "bytes" }];

/** For `outputs` of the hooks; -1 is the number of faces. */
export const FACES: TensorSpec[] = [
  { name: "boxes", dtype: "float32", shape: [-1, 4] },
  { name: "scores", dtype: "float32", shape: [-1] },
  { name: "emotions", dtype: "bytes", shape: [-1] },
];

/** Boxes are left, top, right, bottom in pixels. */
export function toAnswer(faces: readonly Face[], emotions: readonly string[]): Tensors {
  const boxes = faces.flatMap(({ left, top, right, bottom }) => [left, top, right, bottom]);
  const scores = faces.map(({ score }) => score);
  const names = emotions.map((name) => Buffer.from(name));
  return {
    boxes: createTensor("float32", [faces.length, 4], Float32Array.from(boxes)),
    scores: createTensor("float32", [faces.length], Float32Array.from(scores)),
    emotions: createTensor("bytes", [faces.length], names),
  };
}
