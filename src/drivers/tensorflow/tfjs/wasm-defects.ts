import type { NamedAttrMap, NamedTensorInfoMap } from "@tensorflow/tfjs-core";

/** Checks if WebAssembly's kernel would fail, give wrong numbers, or write beyond its output. */
type Defect = (inputs: NamedTensorInfoMap, attrs: NamedAttrMap | undefined) => boolean;

/** Defects of tfjs-backend-wasm 4.22, by kernel; each was seen by comparison with the JavaScript backend. */
export const WASM_DEFECTS: Readonly<Record<string, Defect>> = {
  /** Knows rank-2 and higher matrices of float32 only. */
  BatchMatMul: ({ a }) => a?.dtype !== "float32",
  /** Keeps the low byte of a number, so that 256 is false and 2 is neither. */
  Cast: (_, attrs) => attrs?.dtype === "bool",
  /** Reads integers as floats. */
  ClipByValue: ({ x }) => x?.dtype !== "float32",
  MaxPool: ({ x }) => x?.dtype !== "float32",
  /** Has the least positive number for the least of all, and gives that for windows without positive numbers. */
  MaxPool3D: () => true,
  /** Repeats alpha over the whole of x, whatever their shapes. */
  Prelu: ({ x, alpha }) => x?.dtype !== "float32" || !isTail(alpha?.shape ?? [], x.shape),
  /** Gives floats. */
  ResizeNearestNeighbor: ({ images }) => images?.dtype !== "float32",
  /** Moves four bytes for each element. */
  Reverse: ({ x }) => x?.dtype === "bool",
  /** Writes four bytes for each element. */
  Select: ({ t }) => t?.dtype === "bool",
  /** Calls integers floats where it takes steps. */
  StridedSlice: ({ x }) => x?.dtype !== "float32",
};

/** Checks that a shape, leading ones apart, is that of a tensor's last dimensions. */
function isTail(shape: readonly number[], whole: readonly number[]): boolean {
  const start = shape.findIndex((size) => size !== 1);
  const tail = start === -1 ? [] : shape.slice(start);
  return tail.length <= whole.length && tail.every((size, index) => size === whole[whole.length - tail.length + index]);
}
