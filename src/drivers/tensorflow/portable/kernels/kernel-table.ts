import type { KernelTable } from "../op-node.ts";
import { BINARY_KERNELS } from "./binary.ts";
import { CONTROL_KERNELS } from "./control.ts";
import { EINSUM_KERNELS } from "./einsum.ts";
import { GATHER_KERNELS } from "./gather.ts";
import { IMAGE_KERNELS } from "./image.ts";
import { LIST_KERNELS } from "./list.ts";
import { NN_KERNELS } from "./nn.ts";
import { PARSE_EXAMPLE_KERNELS } from "./parse-example.ts";
import { RAGGED_KERNELS } from "./ragged.ts";
import { REDUCE_KERNELS } from "./reduce.ts";
import { REGEX_KERNELS } from "./regex.ts";
import { SEGMENT_KERNELS } from "./segment.ts";
import { SELECT_KERNELS } from "./select.ts";
import { SHAPE_KERNELS } from "./shape.ts";
import { SLICE_KERNELS } from "./slice.ts";
import { SOFTMAX_KERNELS } from "./softmax.ts";
import { SPARSE_KERNELS } from "./sparse.ts";
import { STRIDED_SLICE_KERNELS } from "./strided-slice.ts";
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
  ...STRIDED_SLICE_KERNELS,
  ...GATHER_KERNELS,
  ...NN_KERNELS,
  ...SOFTMAX_KERNELS,
  ...EINSUM_KERNELS,
  ...IMAGE_KERNELS,
  ...LIST_KERNELS,
  ...REGEX_KERNELS,
  ...SELECT_KERNELS,
  ...PARSE_EXAMPLE_KERNELS,
  ...SPARSE_KERNELS,
  ...SEGMENT_KERNELS,
  ...RAGGED_KERNELS,
  ...STRING_KERNELS,
};
