/**
 * Around the BlazeFace detector: pixels in, faces out.
 * It looks at a 256 x 256 image through two grids of anchors, and says for each anchor
 * whether a face is there and where its edges are.
 */
import { createTensor, resizeImage, type Tensor, type Tensors } from "kserving";

/** A face in the photo's own pixels. */
export interface Face {
  left: number;
  top: number;
  right: number;
  bottom: number;
  /** 0 to 1. */
  score: number;
}

const SIDE = 256;
const GRIDS = [
  { scores: "Identity", boxes: "Identity_2", stride: 16, anchorsPerCell: 2 },
  { scores: "Identity_1", boxes: "Identity_3", stride: 32, anchorsPerCell: 6 },
];
/** Each anchor has 4 numbers for its box and 12 for eyes, nose, mouth and ears, which we do not need. */
const NUMBERS_PER_BOX = 16;
const MIN_SCORE = 0.5;
const MAX_OVERLAP = 0.3;

/** Input of the detector: the photo stretched to 256 x 256, colours from -1 to 1. */
export async function toDetectorInput(photo: Tensor): Promise<Tensor> {
  const { data } = await resizeImage(photo, { width: SIDE, height: SIDE, kernel: "linear" });
  const colours = new Float32Array(data).map((colour) => colour / 127.5 - 1);
  return createTensor("float32", [1, SIDE, SIDE, 3], colours);
}

/** The faces in what the detector gives, best first, each face once. */
export function toFaces(outputs: Tensors, photo: Tensor): Face[] {
  const found = GRIDS.flatMap((grid) => facesOfGrid(outputs, grid)).sort((a, b) => b.score - a.score);
  const faces: Face[] = [];
  for (const face of found) {
    if (faces.every((better) => overlap(face, better) < MAX_OVERLAP)) faces.push(face);
  }
  const [height = 0, width = 0] = photo.shape;
  return faces.map((face) => stretch(face, width / SIDE, height / SIDE));
}

function facesOfGrid(outputs: Tensors, { scores, boxes, stride, anchorsPerCell }: (typeof GRIDS)[number]): Face[] {
  const logits = outputs[scores]?.data as Float32Array;
  const numbers = outputs[boxes]?.data as Float32Array;
  const cells = SIDE / stride;
  const faces: Face[] = [];
  for (const [anchor, logit] of logits.entries()) {
    const score = 1 / (1 + Math.exp(-logit));
    if (score < MIN_SCORE) continue;
    const cell = Math.floor(anchor / anchorsPerCell);
    const [x = 0, y = 0, width = 0, height = 0] = numbers.subarray(anchor * NUMBERS_PER_BOX);
    const centreX = ((cell % cells) + 0.5) * stride + x;
    const centreY = (Math.floor(cell / cells) + 0.5) * stride + y;
    faces.push({
      left: centreX - width / 2,
      top: centreY - height / 2,
      right: centreX + width / 2,
      bottom: centreY + height / 2,
      score,
    });
  }
  return faces;
}

/** Area of the intersection over area of the union. */
function overlap(a: Face, b: Face): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  return (width * height) / (area(a) + area(b) - width * height);
}

function area({ left, top, right, bottom }: Face): number {
  return (right - left) * (bottom - top);
}

function stretch({ left, top, right, bottom, score }: Face, x: number, y: number): Face {
  return { left: left * x, top: top * y, right: right * x, bottom: bottom * y, score };
}
