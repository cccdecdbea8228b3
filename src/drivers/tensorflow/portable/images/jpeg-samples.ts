import { BLOCK, type JpegComponent } from "./jpeg-frame.ts";

/** Factors as fractions of 256; the last lacks a whole. */
const [ROOT_2, C_1_847, C_1_082, C_1_613] = [362, 473, 277, -413];
/** Fraction bits of the scaled quantization tables, with the 3 bits that the transform leaves to divide by. */
const SHIFT = 5;

/** A component's samples, row after row, each as long as its blocks are. */
export interface Plane {
  readonly samples: Uint8Array;
  readonly stride: number;
}

/**
 * Turns a component's coefficients into samples by the quick integer transform of the Independent JPEG Group (Arai,
 * Agui and Nakajima's, with 8 bits of fraction, never rounding), which TensorFlow takes unless told otherwise: others
 * differ by up to 8 levels.
 */
export function toSamples(component: JpegComponent, quantization: Uint16Array): Plane {
  const { blocksAcross, blocksDown, coefficients } = component;
  const stride = blocksAcross * BLOCK;
  const samples = new Uint8Array(stride * blocksDown * BLOCK);
  const scales = scaleQuantization(quantization);
  const block = new Int32Array(64);
  for (let place = 0; place < blocksAcross * blocksDown; place++) {
    for (let at = 0; at < 64; at++) block[at] = coefficients[place * 64 + at]! * scales[at]!;
    for (let column = 0; column < BLOCK; column++) transform(block, column, BLOCK);
    for (let row = 0; row < BLOCK; row++) transform(block, row * BLOCK, 1);
    const start = Math.floor(place / blocksAcross) * BLOCK * stride + (place % blocksAcross) * BLOCK;
    for (let at = 0; at < 64; at++) {
      const level = ((block[at]! << 16) >> (16 + SHIFT)) + 128;
      samples[start + (at >> 3) * stride + (at & 7)] = level < 0 ? 0 : level > 255 ? 255 : level;
    }
  }
  return { samples, stride };
}

/** With the factors that the transform takes out of its multiplications, and 2 bits of fraction. */
function scaleQuantization(quantization: Uint16Array): Int32Array {
  const factor = (index: number) => (index === 0 ? 1 : Math.cos((index * Math.PI) / 16) * Math.SQRT2);
  return Int32Array.from(quantization, (step, at) => {
    const scale = Math.round(factor(at >> 3) * factor(at & 7) * 16384);
    return (step * scale + (1 << 11)) >> 12;
  });
}

/** Eight values, in place. */
function transform(values: Int32Array, start: number, step: number): void {
  const at = (index: number) => values[start + index * step]!;
  const [even, odd] = [at(2) + at(6), at(5) + at(3)];
  const [sum, difference] = [at(0) + at(4), at(0) - at(4)];
  const turned = multiply(at(2) - at(6), ROOT_2) - even;
  const [a, b, c, d] = [sum + even, difference + turned, difference - turned, sum - even];
  const [inner, outer, outerDifference] = [at(5) - at(3), at(1) + at(7), at(1) - at(7)];
  const e = outer + odd;
  const common = multiply(inner + outerDifference, C_1_847);
  const f = multiply(inner, C_1_613) - inner + common - e;
  const g = multiply(outer - odd, ROOT_2) - f;
  const h = multiply(outerDifference, C_1_082) - common + g;
  values[start] = a + e;
  values[start + 7 * step] = a - e;
  values[start + step] = b + f;
  values[start + 6 * step] = b - f;
  values[start + 2 * step] = c + g;
  values[start + 5 * step] = c - g;
  values[start + 4 * step] = d + h;
  values[start + 3 * step] = d - h;
}

/** As vector units do it in 16 bits: what exceeds them, in damaged files, wraps around as in TensorFlow. */
function multiply(value: number, factor: number): number {
  return (((value << 18) >> 16) * factor) >> 10;
}
