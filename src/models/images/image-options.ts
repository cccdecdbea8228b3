import type { OptionTable } from "../../drivers/option-table.ts";
import { invalidArgument, type ServingError } from "../../errors.ts";

/** The `-o` keys for the conversion of images to a model's input. */
export interface RawImageOptions {
  layout?: "NHWC" | "NCHW";
  color_format: "BGR" | "RGB" | "GRAY";
  mean?: string;
  scale?: string;
  resize: "stretch" | "crop" | "letterbox";
  exif: boolean;
}

/** They work with every driver whose model takes numbers of rank 4. */
export const IMAGE_OPTIONS: OptionTable<RawImageOptions> = {
  layout: {
    type: "choice",
    choices: ["NHWC", "NCHW"],
    help: "Where the channels of an image input are; default: the dimension of 1, 3 or 4, the last one first.",
  },
  color_format: {
    type: "choice",
    choices: ["BGR", "RGB", "GRAY"],
    default: "BGR",
    help: "The channels that an image input expects of an encoded image.",
  },
  mean: {
    type: "string",
    help: "Subtracted from each value of an encoded image: one number, or one for each channel, separated by commas.",
  },
  scale: {
    type: "string",
    help: "By which each value of an encoded image is divided, after the mean: one number, or one for each channel.",
  },
  resize: {
    type: "choice",
    choices: ["stretch", "crop", "letterbox"],
    default: "stretch",
    help: "How an encoded image of another aspect ratio is fitted to an image input.",
  },
  exif: {
    type: "boolean",
    default: false,
    help: "Whether an encoded image is turned as its EXIF orientation says.",
  },
};

/** Options for the conversion of images to a model's input. */
export interface ImageChoices {
  /** Absent = guessed from the input's shape. */
  readonly layout?: "NHWC" | "NCHW";
  readonly colorFormat: "BGR" | "RGB" | "GRAY";
  readonly fit: "stretch" | "crop" | "letterbox";
  readonly exif: boolean;
  /** One number for each channel, or one for all; empty = 0. */
  readonly mean: readonly number[];
  /** Likewise; empty = 1. */
  readonly scale: readonly number[];
}

/** Reads the options' texts; throws `invalid_argument` for an invalid list of numbers, and for a scale of 0. */
export function parseImageOptions(options: RawImageOptions): ImageChoices {
  const { layout, color_format: colorFormat, resize: fit, exif } = options;
  const mean = parseNumbers("mean", options.mean);
  const scale = parseNumbers("scale", options.scale);
  if (scale.includes(0)) throw wrong("scale", options.scale, "numbers other than 0");
  return { colorFormat, fit, exif, mean, scale, ...(layout !== undefined && { layout }) };
}

function parseNumbers(name: string, text: string | undefined): number[] {
  if (text === undefined) return [];
  const numbers = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const isCount = [1, 3, 4].includes(numbers.length);
  if (isCount && numbers.every(Number.isFinite)) return numbers;
  throw wrong(name, text, "one number, or one for each of 3 or 4 channels, separated by commas");
}

function wrong(name: string, text: string | undefined, expected: string): ServingError {
  return invalidArgument(`The option ${name} is "${text}"; expected ${expected}.`);
}
