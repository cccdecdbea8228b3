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

/** Reads a frame header, from its precision on; throws an Error for what is not read as TensorFlow does. */
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
