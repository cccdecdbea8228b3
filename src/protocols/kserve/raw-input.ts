import { numericLayout } from "../../tensor/dtype.ts";
import { imageFormat } from "../../tensor/media/image-format.ts";
import { type TensorSpec, takesImages, toSize } from "../../tensor/signature/signature.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import { datatypeOf } from "./datatype.ts";
import { fromRaw, type InputContext } from "./raw-tensor.ts";
import { requestError } from "./request-error.ts";
import { takesInputs } from "./takes-inputs.ts";

/**
 * The input that a body stands for which is one tensor and nothing else (Triton's raw request): its name, datatype and
 * shape are those of the model's only input. A BYTES input gets the body as its one element, an image input may get an
 * image. Throws `invalid_argument` if that cannot be deduced.
 */
export function toRawInput(
  specs: readonly TensorSpec[] | undefined,
  body: Uint8Array,
  context: InputContext,
): readonly [name: string, tensor: Tensor] {
  const [spec, ...others] = specs ?? [];
  if (spec === undefined || others.length > 0) {
    throw requestError(
      "",
      `Raw request must only have 1 input (found 1) to be deduced but got ${specs?.length ?? 0} inputs in '${context.model}' model configuration. ${takesInputs(specs)}`,
    );
  }
  const { name, dtype } = spec;
  if (dtype === "bytes") return [name, createTensor("bytes", oneElement(spec), [body])];
  const isImage = takesImages(spec) && imageFormat(body) !== undefined;
  if (isImage) return [name, createTensor("bytes", [1], [body])];
  const sizes = deduceShape(spec, body.length / numericLayout(dtype).bytes);
  return [name, fromRaw({ name, datatype: datatypeOf(dtype)?.name ?? dtype, shape: sizes }, body, context)];
}

/** A shape of one element; the first dimension may be open, as a batch is. */
function oneElement({ name, shape = [-1] }: TensorSpec): readonly number[] {
  const sizes = shape.map((size, axis) => (axis === 0 && toSize(size) === -1 ? 1 : toSize(size)));
  if (sizes.every((size) => size === 1)) return sizes;
  throw requestError("", `For BYTE datatype raw input '${name}', the model must have input shape [1]`);
}

/** The shape with its open dimension computed; of two open dimensions the first is the batch, which is 1. */
function deduceShape({ name, shape = [-1] }: TensorSpec, elements: number): readonly number[] {
  const sizes = shape.map(toSize);
  const isBatched = sizes[0] === -1 && sizes.indexOf(-1, 1) !== -1;
  if (isBatched) sizes[0] = 1;
  const open = sizes.indexOf(-1);
  if (open === -1) return sizes;
  if (sizes.indexOf(-1, open + 1) !== -1) {
    throw requestError(
      "",
      `The shape of the raw input '${name}' can not be deduced because there are more than one variable-sized dimension`,
    );
  }
  const known = sizes.reduce((product, size) => (size === -1 ? product : product * size), 1);
  return sizes.with(open, Math.floor(elements / known));
}
