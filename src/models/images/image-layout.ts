import { invalidArgument } from "../../errors.ts";
import type { Pixels } from "../../tensor/media/decode-pixels.ts";
import { type Dimension, type Signature, type TensorSpec, takesImages } from "../../tensor/signature/signature.ts";
import type { ImageChoices } from "./image-options.ts";

/** The dimensions of an image input by their meaning. */
export interface ImageLayout {
  readonly order: "NHWC" | "NCHW";
  readonly batch: Dimension;
  readonly height: Dimension;
  readonly width: Dimension;
  readonly channels: Dimension;
}

/** Width and height of the model's input. */
export interface TargetSize {
  readonly width: number;
  readonly height: number;
}

const CHANNEL_COUNTS: readonly Dimension[] = [1, 3, 4];

/**
 * Meaning of each dimension of an input of rank 4: as the option or the driver says, else the one of 1, 3 or 4 holds
 * the channels, the last one first.
 */
export function imageLayout(
  { shape, imageLayout: known }: TensorSpec,
  { layout }: Pick<ImageChoices, "layout">,
): ImageLayout {
  const [batch, second, third, last] = shape as readonly [Dimension, Dimension, Dimension, Dimension];
  const isFirst = CHANNEL_COUNTS.includes(second) && !CHANNEL_COUNTS.includes(last);
  const order = layout ?? known ?? (isFirst ? "NCHW" : "NHWC");
  if (order === "NCHW") return { order, batch, channels: second, height: third, width: last };
  return { order, batch, height: second, width: third, channels: last };
}

/** The signatures, with the layout of every input that takes images. */
export function withImageLayouts(
  signatures: Readonly<Record<string, Signature>>,
  choices: ImageChoices,
): Readonly<Record<string, Signature>> {
  const withLayout = (spec: TensorSpec) => {
    if (!takesImages(spec)) return spec;
    const { order, channels } = imageLayout(spec, choices);
    return CHANNEL_COUNTS.includes(channels) ? { ...spec, imageLayout: order } : spec;
  };
  const entries = Object.entries(signatures).map(
    ([name, { inputs, ...rest }]) => [name, { ...(inputs && { inputs: inputs.map(withLayout) }), ...rest }] as const,
  );
  return Object.fromEntries(entries);
}

/**
 * The size that all images of a request get: the input's; of a range the nearest to the first image's; of an open
 * dimension the first image's, which all others must have then. Throws `invalid_argument` if they differ.
 */
export function targetSize(images: readonly Pixels[], layout: ImageLayout, { name }: TensorSpec): TargetSize {
  const [first] = images;
  const size = {
    width: chooseSide(layout.width, first?.width ?? 0),
    height: chooseSide(layout.height, first?.height ?? 0),
  };
  const isOpen = (side: "width" | "height") => layout[side] === -1;
  const differs = (image: Pixels) =>
    (isOpen("width") && image.width !== size.width) || (isOpen("height") && image.height !== size.height);
  if (!images.some(differs)) return size;
  throw invalidArgument(
    `Binary input images for this endpoint are required to have the same resolution; input name: ${name}`,
  );
}

/** The most pixels that an image of these becomes, whichever way it is turned. */
export function largestTarget(images: readonly TargetSize[], layout: ImageLayout): number {
  const area = (width: number, height: number) => chooseSide(layout.width, width) * chooseSide(layout.height, height);
  const areas = images.flatMap(({ width, height }) => [area(width, height), area(height, width)]);
  return areas.reduce((most, one) => Math.max(most, one), 0);
}

function chooseSide(dimension: Dimension, own: number): number {
  if (typeof dimension === "number") return dimension === -1 ? own : dimension;
  return Math.min(dimension.max, Math.max(dimension.min, own));
}
