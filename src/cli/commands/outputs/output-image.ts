import { failedPrecondition } from "../../../errors.ts";
import { encodeImage } from "../../../media/encode-image.ts";
import { imageFormat } from "../../../media/image-format.ts";
import { elementNumbers } from "../../../tensor/elements.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";

/**
 * An output as a PNG file: pixels of [H,W], [H,W,C] or [C,H,W] with a row of 1 before
 * them or not, floats of 0 to 1 (else stretched from the least to the greatest), or an
 * image that is a file already. Throws `failed_precondition` for anything else.
 */
export async function outputImage(name: string, tensor: Tensor): Promise<Uint8Array> {
  const [file] = tensor.dtype === "bytes" ? tensor.data : [];
  if (file !== undefined && imageFormat(file) !== undefined) return file;
  const shape = tensor.shape.filter((size, axis) => size !== 1 || axis >= tensor.shape.length - 3);
  const place = placeOf(shape.length === 2 ? [...shape, 1] : shape);
  if (tensor.dtype === "bytes" || place === undefined)
    throw failedPrecondition(
      `The output "${name}" is ${tensor.dtype}[${tensor.shape}], which is not an image; expected [H,W], [H,W,C], [C,H,W] or an image file.`,
    );
  return encodeImage(toPixels(tensor, place), { format: "png" });
}

interface PixelPlace {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly isPlanar: boolean;
}

function placeOf(shape: readonly number[]): PixelPlace | undefined {
  const [first = 0, second = 0, third = 0] = shape;
  if (shape.length !== 3) return undefined;
  const isChannels = (size: number) => [1, 3, 4].includes(size);
  if (isChannels(third)) return { height: first, width: second, channels: third, isPlanar: false };
  return isChannels(first) ? { height: second, width: third, channels: first, isPlanar: true } : undefined;
}

function toPixels(tensor: Tensor, { height, width, channels, isPlanar }: PixelPlace): Tensor<"uint8"> {
  const numbers = elementNumbers(tensor, "infer");
  const scale = tensor.dtype === "uint8" ? (value: number) => value : stretch(numbers);
  const pixels = new Uint8Array(numbers.length);
  const size = height * width;
  for (let at = 0; at < pixels.length; at++) {
    const source = isPlanar ? (at % channels) * size + Math.floor(at / channels) : at;
    pixels[at] = scale(numbers[source] ?? 0);
  }
  return createTensor("uint8", [height, width, channels], pixels);
}

/** To 0 to 255. */
function stretch(numbers: ArrayLike<number>): (value: number) => number {
  let [least, most] = [0, 1];
  for (let at = 0; at < numbers.length; at++) {
    least = Math.min(least, numbers[at] ?? 0);
    most = Math.max(most, numbers[at] ?? 0);
  }
  return (value) => Math.round(((value - least) / (most - least)) * 255);
}
