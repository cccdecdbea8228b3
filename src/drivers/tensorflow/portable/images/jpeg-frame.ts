/** Pixels on a side of a block. */
export const BLOCK = 8;

/** One of a JPEG's planes: luma, or a colour. */
export interface JpegComponent {
  readonly id: number;
  /** Samples of this component for each of the coarsest one's, across and down. */
  readonly across: number;
  readonly down: number;
  readonly quantization: number;
  /** Size in samples, without what fills the last blocks. */
  readonly width: number;
  readonly height: number;
  /** Size in blocks, with those that fill the last unit of all components. */
  readonly blocksAcross: number;
  readonly blocksDown: number;
  /** 64 coefficients for each block, in rows. */
  readonly coefficients: Int16Array;
}

/** Facts in a JPEG's frame header. */
export interface JpegFrame {
  readonly width: number;
  readonly height: number;
  readonly isProgressive: boolean;
  readonly components: readonly JpegComponent[];
  /** The components' greatest numbers of samples. */
  readonly mostAcross: number;
  readonly mostDown: number;
}

/** Reads a frame header, from its precision on; throws an Error for one that is not read as TensorFlow does. */
export function readJpegFrame(header: Uint8Array, isProgressive: boolean): JpegFrame {
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const [depth, height, width, count] = [view.getUint8(0), view.getUint16(1), view.getUint16(3), view.getUint8(5)];
  if (depth !== 8) throw new Error(`JPEG of ${depth} bits is not supported`);
  if (width === 0 || height === 0) throw new Error("JPEG without a size is not supported");
  if (count !== 1 && count !== 3) throw new Error(`JPEG of ${count} colours is not supported`);
  const heads = Array.from({ length: count }, (_, index) => {
    const at = 6 + 3 * index;
    const sampling = view.getUint8(at + 1);
    return { id: view.getUint8(at), across: sampling >> 4, down: sampling & 15, quantization: view.getUint8(at + 2) };
  });
  const [mostAcross, mostDown] = [most(heads.map(({ across }) => across)), most(heads.map(({ down }) => down))];
  const size = { width, height, mostAcross, mostDown };
  return { ...size, isProgressive, components: heads.map((head) => ({ ...head, ...measure(head, size) })) };
}

function most(factors: readonly number[]): number {
  if (factors.some((factor) => factor < 1 || factor > 4)) throw new Error("Bogus sampling factors");
  return Math.max(...factors);
}

function measure(
  { across, down }: { readonly across: number; readonly down: number },
  { width, height, mostAcross, mostDown }: Pick<JpegFrame, "width" | "height" | "mostAcross" | "mostDown">,
) {
  const blocksAcross = Math.ceil(width / (BLOCK * mostAcross)) * across;
  const blocksDown = Math.ceil(height / (BLOCK * mostDown)) * down;
  return {
    width: Math.ceil((width * across) / mostAcross),
    height: Math.ceil((height * down) / mostDown),
    blocksAcross,
    blocksDown,
    coefficients: new Int16Array(blocksAcross * blocksDown * BLOCK * BLOCK),
  };
}

/** Factors as fractions of 256; the last lacks a whole. */
const [ROOT_2, C_1_847, C_1_082, C_1_613] = [362, 473, 277, -413];
/** Fraction bits of the scaled quantization tables, with the 3 bits that the transform leaves to divide by. */
const SHIFT = 5;

/** A component's samples, row after row, each as long as its blocks are. */
interface Plane {
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
