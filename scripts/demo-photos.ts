import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const OWN_PHOTOS = fileURLToPath(new URL("../examples/photos", import.meta.url));
const FACE_API = dirname(require.resolve("@vladmandic/face-api/package.json"));

/** File in which `record-faces.ts` writes, and {@link loadDemoPhotos} reads, the faces of the photos. */
export const EXPECTED_FACES_PATH = join(OWN_PHOTOS, "expected-faces.json");

/** The photos of the demo and the tests, by name. */
export const PHOTO_PATHS: Readonly<Record<string, string>> = {
  "portrait.jpg": join(OWN_PHOTOS, "portrait.jpg"),
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`sample${n}.jpg`, join(FACE_API, "demo", `sample${n}.jpg`)])),
  "no-faces.jpg": join(OWN_PHOTOS, "no-faces.jpg"),
};

/** One face: left, top, right, bottom in pixels, and its likeliest emotion. */
export interface FoundFace {
  readonly box: readonly number[];
  readonly emotion: string;
}

/** A photo's bytes, and the faces in it. */
export interface DemoPhoto {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly faces: readonly FoundFace[];
}

/** Reads all photos and what is expected of them. */
export async function loadDemoPhotos(): Promise<DemoPhoto[]> {
  const expected: Record<string, FoundFace[]> = JSON.parse(await readFile(EXPECTED_FACES_PATH, "utf8"));
  return Promise.all(
    Object.entries(PHOTO_PATHS).map(async ([name, path]) => {
      const bytes = new Uint8Array(await readFile(path));
      return { name, bytes, faces: expected[name] ?? [] };
    }),
  );
}

/** The services' answer as one object per face. */
export function toFoundFaces(boxes: readonly (readonly number[])[], emotions: readonly string[]): FoundFace[] {
  return boxes.map((box, index) => ({ box, emotion: emotions[index] ?? "" }));
}

/**
 * The error of the faces that were found, or undefined: their number, an emotion, or a box that overlaps the expected
 * one by less than 90 %.
 */
export function faceMismatch(found: readonly FoundFace[], expected: readonly FoundFace[]): string | undefined {
  if (found.length !== expected.length) return `${found.length} faces, expected ${expected.length}`;
  for (const [index, face] of found.entries()) {
    const wanted = expected[index] as FoundFace;
    if (face.emotion !== wanted.emotion) return `face ${index + 1} is ${face.emotion}, expected ${wanted.emotion}`;
    const iou = overlap(face.box, wanted.box);
    if (!(iou >= 0.9)) return `face ${index + 1} is at ${face.box}, expected ${wanted.box} (overlap ${iou.toFixed(2)})`;
  }
  return undefined;
}

/** Area of the intersection over area of the union. */
function overlap(a: readonly number[], b: readonly number[]): number {
  const [left, top, right, bottom] = a as Box;
  const [otherLeft, otherTop, otherRight, otherBottom] = b as Box;
  const width = Math.max(0, Math.min(right, otherRight) - Math.max(left, otherLeft));
  const height = Math.max(0, Math.min(bottom, otherBottom) - Math.max(top, otherTop));
  const areas = (right - left) * (bottom - top) + (otherRight - otherLeft) * (otherBottom - otherTop);
  return (width * height) / (areas - width * height);
}

type Box = readonly [number, number, number, number];
