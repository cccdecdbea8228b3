/**
 * The model alone: ONNX Runtime in a loop with nothing around it, for as long as the
 * parent asks. The model's path is the first argument.
 */
import { InferenceSession, Tensor } from "onnxruntime-node";
import sharp from "sharp";
import { PHOTO_SHAPE, PHOTO_SIDE, toPlanes } from "./photo-planes.ts";

/** Length of a loop, and if each run begins with a photo to decode. */
export interface LoopQuestion {
  readonly seconds: number;
  readonly photo?: Buffer;
  /** Runs that are under way at once: while one decodes, another may run the model. */
  readonly overlap: number;
}

/** Measurements of a loop. */
export interface LoopAnswer {
  readonly requests: number;
  readonly seconds: number;
}

const session = await InferenceSession.create(process.argv[2] as string, { intraOpNumThreads: 1 });
const still = new Tensor("float32", new Float32Array(3 * PHOTO_SIDE * PHOTO_SIDE).fill(0.5), PHOTO_SHAPE);

process.on("message", async (question: LoopQuestion) => process.send?.(await run(question)));
process.on("disconnect", () => process.exit());
process.send?.({});

async function run({ seconds, photo, overlap }: LoopQuestion): Promise<LoopAnswer> {
  const started = performance.now();
  const end = started + seconds * 1000;
  const counts = await Promise.all(Array.from({ length: overlap }, () => loop(end, photo)));
  return { requests: counts.reduce((sum, count) => sum + count), seconds: (performance.now() - started) / 1000 };
}

async function loop(end: number, photo: Buffer | undefined): Promise<number> {
  let count = 0;
  for (; performance.now() < end; count++) await session.run({ x: photo === undefined ? still : await decode(photo) });
  return count;
}

async function decode(photo: Buffer): Promise<Tensor> {
  const size = { width: PHOTO_SIDE, height: PHOTO_SIDE, fit: "fill" } as const;
  const pixels = await sharp(photo).resize(size).removeAlpha().raw().toBuffer();
  return new Tensor("float32", toPlanes(pixels), PHOTO_SHAPE);
}
