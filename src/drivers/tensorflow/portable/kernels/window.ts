import { FLOATS, TYPE } from "../element-types.ts";
import type { OpNode } from "../op-node.ts";

type Pair = [number, number];

/** Numbers of lines before and after each dimension. */
export type Paddings = [Pair, Pair, Pair, Pair];

/** Movement of a convolution's window over an image. */
export interface Window {
  readonly strides: Pair;
  readonly dilations: Pair;
  /**
   * Layout of a window of this height and width on an image of this shape; throws an Error for one that is larger than
   * the image.
   */
  layOn(shape: readonly number[], filter: readonly number[]): Layout;
}

/** A window on an image. */
interface Layout {
  readonly paddings: Paddings;
  /** The result's shape, without its channels. */
  readonly outer: readonly [batch: number, height: number, width: number];
  /** WebAssembly's kernels do not know that there may be nothing to compute. */
  readonly isEmpty: boolean;
}

/** A convolution's or pool's attributes; refuses values that are not computed here as in TensorFlow. */
export function readWindow(node: OpNode): Window {
  requireChannelsLast(node);
  node.typeOf("T", FLOATS, TYPE.float);
  const [strides, dilations] = [spatial(node, "strides"), spatial(node, "dilations")];
  const padding = node.text("padding");
  const lay = (padded: (shape: readonly number[], filter: readonly number[]) => Paddings): Window => ({
    strides,
    dilations,
    layOn: (shape, filter) => layOut({ shape, filter, strides, dilations, paddings: padded(shape, filter) }),
  });
  if (padding === "EXPLICIT") {
    const fixed = explicitPaddings(node);
    return lay(() => fixed);
  }
  if (padding !== "SAME" && padding !== "VALID") return node.refuse(`with padding ${padding}`);
  const none = padding === "VALID";
  const along = (axis: 0 | 1, size: number, filter: number): Pair =>
    none ? [0, 0] : samePadding(size, (filter - 1) * dilations[axis] + 1, strides[axis]);
  // Written out in any case: for SAME, WebAssembly's kernels are wrong if a stride is larger than the window.
  return lay(([, height = 0, width = 0], [rows = 0, columns = 0]) => [
    [0, 0],
    along(0, height, rows),
    along(1, width, columns),
    [0, 0],
  ]);
}

interface Placement {
  readonly shape: readonly number[];
  readonly filter: readonly number[];
  readonly strides: Pair;
  readonly dilations: Pair;
  readonly paddings: Paddings;
}

function layOut({ shape, filter, strides, dilations, paddings }: Placement): Layout {
  const along = (axis: 0 | 1) => {
    const [before, after] = paddings[axis + 1]!;
    const window = (filter[axis]! - 1) * dilations[axis] + 1;
    const room = shape[axis + 1]! + before + after - window;
    if (room < 0 && window > 1)
      throw new Error(`Computed output size would be negative: the window takes ${window} of ${room + window}`);
    return Math.floor((room + strides[axis]) / strides[axis]);
  };
  const outer = [shape[0]!, along(0), along(1)] as const;
  return { paddings, outer, isEmpty: outer.some((size) => size === 0) };
}

/** Refuses the layouts that TensorFlow's CPU kernels do not take either, or not in every build. */
export function requireChannelsLast(node: OpNode): void {
  const format = node.text("data_format", "NHWC");
  if (format !== "NHWC") node.refuse(`in ${format}`);
}

/** Height and width of an attribute with a number for each dimension. */
export function spatial(node: OpNode, name: string): Pair {
  const values = node.integers(name, [1, 1, 1, 1]);
  if (values.length !== 4 || values[0] !== 1 || values[3] !== 1) node.refuse(`with ${name} [${values}]`);
  return [values[1]!, values[2]!];
}

/** As many places as the image has, divided by the stride; an odd one goes behind. */
function samePadding(size: number, window: number, stride: number): Pair {
  const total = Math.max((Math.ceil(size / stride) - 1) * stride + window - size, 0);
  return [Math.floor(total / 2), Math.ceil(total / 2)];
}

function explicitPaddings(node: OpNode): Paddings {
  const numbers = node.integers("explicit_paddings");
  if (numbers.length !== 8) return node.refuse(`with explicit paddings [${numbers}]`);
  return [0, 2, 4, 6].map((index): Pair => [numbers[index]!, numbers[index + 1]!]) as Paddings;
}
