/**
 * Nine coefficients, by rows, of a map from target to source coordinates:
 * `x = (a u + b v + c) / (g u + h v + i)`, likewise `y`.
 */
export type Projection = readonly [number, number, number, number, number, number, number, number, number];

/** Pixels, channels next to one another, rows from the top. */
interface Raster {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: number;
}

/**
 * Draws the part of an image that a projection points at: bilinear, pixel centers at whole coordinates, edges repeated,
 * as OpenCV's warpPerspective does with INTER_LINEAR and BORDER_REPLICATE.
 */
export function warp(source: Raster, projection: Projection, width: number, height: number): Uint8Array {
  const { channels } = source;
  const target = new Uint8Array(width * height * channels);
  const [a, b, c, d, e, f, g, h, i] = projection;
  for (let v = 0, at = 0; v < height; v++) {
    for (let u = 0; u < width; u++, at += channels) {
      const scale = 1 / (g * u + h * v + i);
      sample(source, (a * u + b * v + c) * scale, (d * u + e * v + f) * scale, { target, at });
    }
  }
  return target;
}

interface Place {
  readonly target: Uint8Array;
  readonly at: number;
}

function sample({ data, width, height, channels }: Raster, x: number, y: number, { target, at }: Place): void {
  const left = Math.floor(x);
  const top = Math.floor(y);
  const [across, down] = [x - left, y - top];
  const [x0, x1] = [clamp(left, width), clamp(left + 1, width)];
  const [y0, y1] = [clamp(top, height) * width, clamp(top + 1, height) * width];
  for (let channel = 0; channel < channels; channel++) {
    const upper = mix(data[(y0 + x0) * channels + channel], data[(y0 + x1) * channels + channel], across);
    const lower = mix(data[(y1 + x0) * channels + channel], data[(y1 + x1) * channels + channel], across);
    target[at + channel] = Math.round(mix(upper, lower, down));
  }
}

function mix(one: number | undefined = 0, other: number | undefined = 0, weight = 0): number {
  return one + (other - one) * weight;
}

function clamp(place: number, size: number): number {
  return Math.min(size - 1, Math.max(0, place));
}
