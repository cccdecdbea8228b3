import { type ChosenFile, chooseFile } from "./input-state.ts";

/**
 * A file's image in shades of grey, as a PNG of one channel: luma of ITU-R BT.601, as the server computes it for the
 * option `color_format=GRAY`. Throws if the browser cannot decode it.
 */
export async function toGreyFile({ name, source }: ChosenFile): Promise<ChosenFile> {
  const picture = await createImageBitmap(source);
  const { width, height } = picture;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  if (context === null) throw new Error("The browser cannot draw the image.");
  context.drawImage(picture, 0, 0);
  picture.close();
  const png = await greyPng(toLuma(context.getImageData(0, 0, width, height).data), { width, height });
  const file = new File([png], `${name.replace(/\.[^.]*$/, "")}.grey.png`, { type: "image/png" });
  return { ...(await chooseFile(file)), isGrey: true };
}

function toLuma(pixels: Uint8ClampedArray): Uint8Array<ArrayBuffer> {
  const luma = new Uint8Array(pixels.length / 4);
  for (let pixel = 0, at = 0; pixel < luma.length; pixel++, at += 4) {
    const [red = 0, green = 0, blue = 0] = [pixels[at], pixels[at + 1], pixels[at + 2]];
    luma[pixel] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
  }
  return luma;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** A PNG of 8 bits a pixel; browsers write none but of colours. */
async function greyPng(luma: Uint8Array, { width, height }: Size): Promise<Blob> {
  const lines = new Uint8Array((width + 1) * height);
  // Each line begins with the number of its filter: 0 is none.
  for (let y = 0; y < height; y++) lines.set(luma.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const packed = new Blob([lines]).stream().pipeThrough(new CompressionStream("deflate"));
  const head = new DataView(new ArrayBuffer(13));
  head.setUint32(0, width);
  head.setUint32(4, height);
  head.setUint8(8, 8);
  const data = new Uint8Array(await new Response(packed).arrayBuffer());
  const chunks = [chunk("IHDR", new Uint8Array(head.buffer)), chunk("IDAT", data), chunk("IEND", new Uint8Array(0))];
  return new Blob([SIGNATURE, ...chunks]);
}

function chunk(type: string, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

/** The checksum of PNG's chunks (ISO 3309). */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
