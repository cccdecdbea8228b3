import { failedPrecondition } from "../../../errors.ts";
import { createTensor, type Tensor } from "../../../tensor/tensor.ts";
import { fromDType, toDType } from "../element-types.ts";
import type { Port, PortRole } from "../engine.ts";
import type { AddonTensor, OpenvinoAddon } from "./addon-api.ts";

/** Element types that the addon has tensors of; of strings it has those that are text, which bytes need not be. */
const CARRIED = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];
const TITLES = { inputs: "Input", outputs: "Output" } as const;

/** Throws `failed_precondition` for an input or output type that the addon's tensors do not support. */
export function assertCarried(role: PortRole, { name, elementType }: Port): void {
  if (CARRIED.includes(elementType)) return;
  throw failedPrecondition(
    `${TITLES[role]} "${name}" is of element type ${elementType}, which openvino-node does not carry; use -o engine=native.`,
  );
}

/** A tensor that views memory, which has to stay valid as long as it is used. */
export interface GivenTensor {
  readonly tensor: AddonTensor;
  readonly data: NodeJS.TypedArray;
}

/**
 * A tensor of the addon on ours; its memory, if that is the whole of a buffer that no other thread has, or else a copy:
 * the addon takes no parts of buffers.
 */
export function toAddonTensor(addon: OpenvinoAddon, { dtype, shape, data }: Tensor): GivenTensor {
  const elementType = fromDType(dtype) as string;
  const numbers = data as NodeJS.TypedArray;
  // Memory of length 0 has no address, which the addon treats as missing.
  if (numbers.length === 0) return { tensor: new addon.Tensor(elementType, shape), data: numbers };
  const isWhole = numbers.byteLength === numbers.buffer.byteLength && numbers.buffer instanceof ArrayBuffer;
  const whole = isWhole ? numbers : numbers.slice();
  return { tensor: new addon.Tensor(elementType, shape, whole), data: whole };
}

/** A tensor for an output: of its shape, or as small as it may be, which runs then enlarge. */
export function createOutput(addon: OpenvinoAddon, { elementType, shape = [0] }: Port): AddonTensor {
  const least = shape.map((dimension) => (typeof dimension === "number" ? Math.max(0, dimension) : dimension.min));
  return new addon.Tensor(elementType, least);
}

/** A copy of an output. */
export function fromAddonTensor(tensor: AddonTensor): Tensor {
  const dtype = toDType(tensor.getElementType(), "The output");
  return createTensor(dtype, tensor.getShape(), tensor.getData() as never);
}
