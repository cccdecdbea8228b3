import type { JpegComponent, JpegFrame } from "./jpeg-frame.ts";
import type { Plane } from "./jpeg-samples.ts";

/** One line of a component at the image's width, from its own line and the one next to it. */
type Widen = (into: Uint8Array, start: number, lines: { readonly near: number; readonly next: number }) => void;

/**
 * Gives a component a sample for each of the image's pixels, as the Independent JPEG Group's "fancy" upsampling does:
 * half as many are weighted three to one with their neighbours, other ratios are repeated. Throws an Error for ratios
 * other than whole numbers.
 */
export function upsample(plane: Plane, component: JpegComponent, frame: JpegFrame): Uint8Array {
  const [columns, rows] = [frame.mostAcross / component.across, frame.mostDown / component.down];
  if (!Number.isInteger(columns) || !Number.isInteger(rows)) throw new Error("Fractional sampling is not supported");
  // A line of more than the image's width has room for the last pair.
  const line = new Uint8Array(component.width * columns);
  const pixels = new Uint8Array(frame.width * frame.height);
  const isSmooth = rows === 2 && (columns === 1 || (columns === 2 && component.width > 2));
  const widen = chooseWiden(plane, component, { columns, isSmooth });
  for (let row = 0; row < frame.height; row++) {
    const near = Math.floor(row / rows);
    const beside = isSmooth ? near + (row % 2 === 0 ? -1 : 1) : near;
    const next = Math.min(Math.max(beside, 0), component.height - 1);
    widen(line, row % 2, { near: near * plane.stride, next: next * plane.stride });
    pixels.set(line.subarray(0, frame.width), row * frame.width);
  }
  return pixels;
}

function chooseWiden(
  { samples }: Plane,
  { width }: JpegComponent,
  { columns, isSmooth }: { readonly columns: number; readonly isSmooth: boolean },
): Widen {
  if (columns === 1 && isSmooth) {
    return (into, isLower, { near, next }) => {
      for (let x = 0; x < width; x++) into[x] = (samples[near + x]! * 3 + samples[next + x]! + 1 + isLower) >> 2;
    };
  }
  if (columns === 2 && width > 2) return isSmooth ? widenBoth(samples, width) : widenAcross(samples, width);
  return (into, _, { near }) => {
    for (let x = 0; x < into.length; x++) into[x] = samples[near + Math.floor(x / columns)]!;
  };
}

function widenAcross(samples: Uint8Array, width: number): Widen {
  return (into, _, { near }) => {
    for (let x = 0; x < width; x++) {
      const own = samples[near + x]!;
      into[2 * x] = x === 0 ? own : (own * 3 + samples[near + x - 1]! + 1) >> 2;
      into[2 * x + 1] = x === width - 1 ? own : (own * 3 + samples[near + x + 1]! + 2) >> 2;
    }
  };
}

function widenBoth(samples: Uint8Array, width: number): Widen {
  return (into, _, { near, next }) => {
    const sum = (x: number) => samples[near + x]! * 3 + samples[next + x]!;
    let [before, own] = [sum(0), sum(0)];
    for (let x = 0; x < width; x++) {
      const after = x === width - 1 ? own : sum(x + 1);
      into[2 * x] = (own * 3 + before + 8) >> 4;
      into[2 * x + 1] = (own * 3 + after + 7) >> 4;
      [before, own] = [own, after];
    }
  };
}
