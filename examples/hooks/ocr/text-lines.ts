/** The first model: a photo to the probability of each pixel to belong to text, and from that to the lines. */
import {
  boxCorners,
  type ImageTensor,
  minAreaBox,
  type Point,
  type RotatedBox,
  resizeImage,
  type StageHandle,
  tensorOf,
} from "kserving";

/** The corners of a line of text in the photo's pixels, clockwise from its left upper one. */
export type Line = readonly [Point, Point, Point, Point];

/**
 * The model works on multiples of so many pixels, and finds little text in smaller images than the second number says.
 */
const STEP = 32;
const MIN_SIDE = 736;
const MAX_SIDE = 3200;
/** Probability above which a pixel is text, and a box is a line. */
const PIXEL_SCORE = 0.3;
const LINE_SCORE = 0.5;
/** The model finds the middle of lines; their boxes are this much larger, measured by area over perimeter. */
const GROWTH = 1.6;

/** Finds the lines of text, from above to below. */
export async function findLines(detector: StageHandle, photo: ImageTensor): Promise<Line[]> {
  const [height = 1, width = 1] = photo.shape;
  const [shorter, longer] = [Math.min(width, height), Math.max(width, height)];
  const scale = Math.min(Math.max(1, MIN_SIDE / shorter), MAX_SIDE / longer);
  const toSide = (side: number) => Math.max(1, Math.round((side * scale) / STEP)) * STEP;
  const size = { width: toSide(width), height: toSide(height) };
  const outputs = await detector.predict({ x: await resizeImage(photo, { ...size, kernel: "linear" }) });
  const scores = tensorOf(outputs, detector.outputs?.[0]?.name ?? "", "float32").data;
  const toPhoto = ({ x, y }: Point) => ({
    x: clip((x * width) / size.width, width),
    y: clip((y * height) / size.height, height),
  });
  const boxes = textBoxes({ scores, ...size });
  return inReadingOrder(boxes.map((box) => boxCorners(box).map(toPhoto) as unknown as Line));
}

function clip(place: number, end: number): number {
  return Math.min(end, Math.max(0, Math.round(place)));
}

interface ScoreMap {
  readonly scores: Float32Array;
  readonly width: number;
  readonly height: number;
}

function textBoxes(map: ScoreMap): RotatedBox[] {
  return textRegions(map).flatMap((region) => {
    const box = minAreaBox(region);
    if (Math.min(box.width, box.height) < 3 || meanScore(map, box) < LINE_SCORE) return [];
    const growth = (2 * GROWTH * box.width * box.height) / (2 * (box.width + box.height));
    return [{ ...box, width: box.width + growth, height: box.height + growth }];
  });
}

/** Groups of neighbouring text pixels, each as the first and last pixel of its rows. */
function textRegions({ scores, width, height }: ScoreMap): Point[][] {
  const isText = (x: number, y: number) => x >= 0 && y >= 0 && (scores[y * width + x] as number) > PIXEL_SCORE;
  const mask = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      // A pixel wider and higher, so that thin gaps close.
      if (isText(x, y) || isText(x - 1, y) || isText(x, y - 1) || isText(x - 1, y - 1)) mask[y * width + x] = 1;
    }
  }
  const regions: Point[][] = [];
  for (let start = mask.indexOf(1); start >= 0; start = mask.indexOf(1, start)) {
    regions.push(takeRegion(mask, start, width));
  }
  return regions;
}

/** Clears a region of the mask and gives its outline. */
function takeRegion(mask: Uint8Array, start: number, width: number): Point[] {
  const rows = new Map<number, { first: number; last: number }>();
  const waiting = [start];
  mask[start] = 0;
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const [x, y] = [at % width, Math.floor(at / width)];
    const row = rows.get(y) ?? { first: x, last: x };
    rows.set(y, { first: Math.min(row.first, x), last: Math.max(row.last, x) });
    for (const step of [-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1]) {
      const next = at + step;
      if (mask[next] !== 1 || Math.abs((next % width) - x) > 1) continue;
      mask[next] = 0;
      waiting.push(next);
    }
  }
  return [...rows].flatMap(([y, { first, last }]) => [
    { x: first, y },
    { x: last, y },
  ]);
}

/** Mean score of the pixels within a box. */
function meanScore({ scores, width, height }: ScoreMap, box: RotatedBox): number {
  const corners = boxCorners(box);
  const range = (places: number[], end: number) =>
    [clip(Math.min(...places) - 0.5, end - 1), clip(Math.max(...places) + 0.5, end - 1)] as const;
  const [left, right] = range(
    corners.map(({ x }) => x),
    width,
  );
  const [top, bottom] = range(
    corners.map(({ y }) => y),
    height,
  );
  const turn = (box.angle * Math.PI) / 180;
  let [sum, count] = [0, 0];
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const along = (x - box.centerX) * Math.cos(turn) + (y - box.centerY) * Math.sin(turn);
      const across = (y - box.centerY) * Math.cos(turn) - (x - box.centerX) * Math.sin(turn);
      if (Math.abs(along) > box.width / 2 || Math.abs(across) > box.height / 2) continue;
      sum += scores[y * width + x] as number;
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** Rows from above to below, and from left to right what lies in one row. */
function inReadingOrder(lines: readonly Line[]): Line[] {
  const middle = ([a, , c]: Line) => (a.y + c.y) / 2;
  const rows: Line[][] = [];
  for (const line of [...lines].sort((one, other) => middle(one) - middle(other))) {
    const row = rows.at(-1);
    const first = row?.[0];
    if (first !== undefined && middle(line) - middle(first) < (first[2].y - first[0].y) / 2) row?.push(line);
    else rows.push([line]);
  }
  return rows.flatMap((row) => row.sort((one, other) => one[0].x - other[0].x));
}
