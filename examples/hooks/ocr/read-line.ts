/** The second model: one line of text, upright, to its letters. */
import {
  cropQuad,
  ctcGreedyDecode,
  type ImageTensor,
  type Point,
  resizeImage,
  type StageHandle,
  tensorOf,
} from "kserving";
import type { Line } from "./text-lines.ts";

/** Size that the model was trained with, in pixels: shorter lines are padded. */
const HEIGHT = 48;
const MIN_WIDTH = 320;
/** Becomes 0 by the model's mean. */
const GREY = [127, 127, 127] as const;

/** One line as it was read. */
export interface ReadLine {
  readonly line: Line;
  readonly text: string;
  /** Mean of its letters' probabilities. */
  readonly score: number;
}

/** The letters by class, from the model's own file: the first class is the blank, the last one a space. */
export function lettersOf(recognizer: StageHandle): readonly string[] {
  const { character } = recognizer.args.session.metadata;
  if (character === undefined) throw new Error("the second model's metadata have no entry `character`");
  return ["", ...character.split("\n"), " "];
}

/** A line to read, and the letters to read it with. */
export interface LineToRead {
  readonly line: Line;
  readonly letters: readonly string[];
}

/** Cuts the line out of the photo and reads it. */
export async function readLine(
  recognizer: StageHandle,
  photo: ImageTensor,
  { line, letters }: LineToRead,
): Promise<ReadLine> {
  const crop = cropLine(photo, line);
  const width = Math.max(MIN_WIDTH, crop.shape[1] ?? 0);
  const x = await resizeImage(crop, { width, height: HEIGHT, fit: "letterbox", align: "start", background: GREY });
  const outputs = await recognizer.predict({ x });
  const [read] = ctcGreedyDecode(tensorOf(outputs, recognizer.outputs?.[0]?.name ?? "", "float32"));
  const { classes = [], scores = [] } = read ?? {};
  return {
    line,
    text: classes.map((index) => letters[index] ?? "").join(""),
    score: scores.reduce((sum, score) => sum + score, 0) / Math.max(1, scores.length),
  };
}

/** Upright, in the model's height; a line that is much higher than wide is read from below. */
function cropLine(photo: ImageTensor, [a, b, c, d]: Line): ImageTensor {
  const [width, height] = [distance(a, b), distance(a, d)];
  const isUpright = height < 1.5 * width;
  const ratio = isUpright ? width / height : height / width;
  const corners = isUpright ? [a, b, c, d] : [b, c, d, a];
  return cropQuad(photo, corners, { width: Math.ceil(HEIGHT * ratio), height: HEIGHT });
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
