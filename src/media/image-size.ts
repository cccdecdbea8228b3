import { invalidArgument } from "../errors.ts";

/** Default limit of an image's pixels before decoding and after resizing: 300 MB as RGB. */
export const DEFAULT_MAX_PIXELS = 100_000_000;

/** Width and height in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Refuses a size of more pixels than allowed with `invalid_argument`; `what` names it in the message. */
export function checkPixels(what: string, { width, height }: Size, maxPixels: number): void {
  if (width * height <= maxPixels) return;
  throw invalidArgument(`${what} has ${width} x ${height} pixels; at most ${maxPixels} pixels are accepted.`);
}

/**
 * The size an image gets: both sides wanted = exactly these; one = the other follows the aspect ratio; none =
 * unchanged. Throws `invalid_argument` for a side that is not a positive integer, and for more than `maxPixels`.
 */
export function targetSize(source: Size, wanted: Partial<Size>, maxPixels = DEFAULT_MAX_PIXELS): Size {
  const width = checkSide("width", wanted.width);
  const height = checkSide("height", wanted.height);
  const size = {
    width: width ?? follow(source.width, source.height, height),
    height: height ?? follow(source.height, source.width, width),
  };
  checkPixels("The resized image", size, maxPixels);
  return size;
}

/** One side, scaled as the other one is. */
function follow(side: number, other: number, wantedOther: number | undefined): number {
  return wantedOther === undefined ? side : Math.max(1, Math.round((side * wantedOther) / other));
}

function checkSide(name: string, side: number | undefined): number | undefined {
  if (side === undefined || (Number.isSafeInteger(side) && side > 0)) return side;
  throw invalidArgument(`The image's ${name} is ${side}; expected a positive integer.`);
}
