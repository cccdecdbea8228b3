import type { KernelTable } from "../op-node.ts";
import { BINARY_KERNELS } from "./binary.ts";
import { CONTROL_KERNELS } from "./control.ts";
import { GATHER_KERNELS } from "./gather.ts";
import { IMAGE_KERNELS } from "./image.ts";
import { NN_KERNELS } from "./nn.ts";
import { PARSE_EXAMPLE_KERNELS } from "./parse-example.ts";
import { PRODUCT_KERNELS } from "./products.ts";
import { RAGGED_AND_SPARSE_KERNELS } from "./ragged-and-sparse.ts";
import { REDUCE_KERNELS } from "./reduce.ts";
import { SELECT_KERNELS } from "./select.ts";
import { SHAPE_KERNELS } from "./shape.ts";
import { SLICE_KERNELS } from "./slice.ts";
import { STRING_KERNELS } from "./string.ts";
import { UNARY_KERNELS } from "./unary.ts";

/** Every operation that is computed as TensorFlow does; each refuses those of its variants that are not. */
export const KERNELS: KernelTable = {
  ...CONTROL_KERNELS,
  ...UNARY_KERNELS,
  ...BINARY_KERNELS,
  ...REDUCE_KERNELS,
  ...SHAPE_KERNELS,
  ...SLICE_KERNELS,
  ...GATHER_KERNELS,
  ...NN_KERNELS,
  ...PRODUCT_KERNELS,
  ...IMAGE_KERNELS,
  ...SELECT_KERNELS,
  ...PARSE_EXAMPLE_KERNELS,
  ...RAGGED_AND_SPARSE_KERNELS,
  ...STRING_KERNELS,
};
