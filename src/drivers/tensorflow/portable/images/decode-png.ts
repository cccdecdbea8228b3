import type { Image } from "./decoded-image.ts";
import { type PngFile, parsePng } from "./png-file.ts";
import { readPngSamples } from "./png-samples.ts";

/** Weights of red and green in grey that TensorFlow passes to libpng; blue has the rest of 32768. */
const [RED, GREEN] = [9797, 19234];
const BLUE = 32768 - RED - GREEN;

/** Form in which a PNG is wanted. */
export interface PngForm {
  /** 0 = those of the file. */
  readonly channels: number;
  readonly bits: 8 | 16;
}

/** A pixel's colour and alpha, in numbers of `depth` bits. */
interface Colours {
  readonly depth: number;
  readonly isGrey: boolean;
  /** Grey, or red, green, blue; then alpha, where it has one. */
  readonly samples: Uint8Array | Uint16Array;
  readonly channels: number;
}

/**
 * Decodes a PNG as TensorFlow's DecodePng does, to the level. Throws an Error for what is damaged, and for colours with
 * a gamma that are to become grey.
 */
export function decodePng(bytes: Uint8Array, { channels, bits }: PngForm): Image {
  const file = parsePng(bytes);
  const { width, height } = file;
  const wanted = channels || ownChannels(file);
  const colours = toColours(file, wanted % 2 === 0);
  if (wanted < 3 && !colours.isGrey && file.hasGamma) throw new Error("PNG with a gamma as grey is not supported");
  const data = new (bits === 16 ? Uint16Array : Uint8Array)(width * height * wanted);
  // The greatest number of the file's depth, for any form of the colours, as in TensorFlow.
  fill(data, wanted, { colours, alpha: 2 ** file.depth - 1 });
  if (bits === 16 && colours.depth === 8) for (const [at, value] of data.entries()) data[at] = value * 257;
  return { width, height, channels: wanted, data };
}

function ownChannels({ colour, channels, transparent }: PngFile): number {
  if (colour !== 3) return channels;
  return transparent === undefined ? 3 : 4;
}

/** Palettes become colours, few greys many, and a colour that stands for nothing gets alpha where that is wanted. */
function toColours(file: PngFile, wantsAlpha: boolean): Colours {
  const samples = readPngSamples(file);
  const { colour, depth, channels, transparent } = file;
  if (colour === 3) return fromPalette(file, samples);
  const isGrey = colour === 0 || colour === 4;
  const scale = depth < 8 ? 255 / (2 ** depth - 1) : 1;
  const full = depth < 8 ? samples.map((sample) => sample * scale) : samples;
  const colours = { depth: Math.max(depth, 8), isGrey, samples: full, channels };
  if (!wantsAlpha || transparent === undefined || colour === 4 || colour === 6) return colours;
  return withKey(colours, samples, transparent);
}

function fromPalette({ palette = new Uint8Array(), transparent }: PngFile, samples: Uint8Array | Uint16Array): Colours {
  const channels = transparent === undefined ? 3 : 4;
  const colours = new Uint8Array(samples.length * channels);
  for (const [pixel, index] of samples.entries()) {
    colours.set(palette.subarray(3 * index, 3 * index + 3), pixel * channels);
    if (transparent !== undefined) colours[pixel * channels + 3] = transparent[index] ?? 255;
  }
  return { depth: 8, isGrey: false, samples: colours, channels };
}

function withKey(colours: Colours, original: Uint8Array | Uint16Array, key: Uint8Array): Colours {
  const { channels: own, samples: full, depth } = colours;
  const keyed = Array.from({ length: own }, (_, at) => ((key[2 * at] ?? 0) << 8) | (key[2 * at + 1] ?? 0));
  const samples = new (depth === 16 ? Uint16Array : Uint8Array)((full.length / own) * (own + 1));
  for (let pixel = 0; pixel < full.length / own; pixel++) {
    samples.set(full.subarray(pixel * own, (pixel + 1) * own), pixel * (own + 1));
    const isNothing = keyed.every((value, channel) => original[pixel * own + channel] === value);
    samples[pixel * (own + 1) + own] = isNothing ? 0 : 2 ** depth - 1;
  }
  return { ...colours, samples, channels: own + 1 };
}

/** Puts every pixel in with the channels wanted; of 16 bits the upper 8 where 8 are wanted. */
function fill(
  data: Uint8Array | Uint16Array,
  wanted: number,
  { colours, alpha }: { readonly colours: Colours; readonly alpha: number },
): void {
  const { samples, channels, isGrey, depth } = colours;
  const shift = depth === 16 && data instanceof Uint8Array ? 8 : 0;
  const hasAlpha = channels % 2 === 0;
  for (let from = 0, to = 0; from < samples.length; from += channels) {
    const red = samples[from]!;
    const green = isGrey ? red : samples[from + 1]!;
    const blue = isGrey ? red : samples[from + 2]!;
    if (wanted < 3) data[to++] = toGrey(red, green, blue, depth) >> shift;
    else {
      data[to++] = red >> shift;
      data[to++] = green >> shift;
      data[to++] = blue >> shift;
    }
    if (wanted % 2 === 0) data[to++] = (hasAlpha ? samples[from + channels - 1]! : alpha) >> shift;
  }
}

function toGrey(red: number, green: number, blue: number, depth: number): number {
  if (red === green && red === blue) return red;
  return (RED * red + GREEN * green + BLUE * blue + (depth === 16 ? 16384 : 0)) >>> 15;
}
