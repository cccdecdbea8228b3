import { ServingError } from "../../errors.ts";
import { imageFormat } from "../../media/image-format.ts";
import type { TensorSpec } from "../../signature/signature.ts";
import { takesPictures } from "../../signature/takes-pictures.ts";
import { numericLayout } from "../../tensor/dtype.ts";
import { createTensor, type Tensor } from "../../tensor/tensor.ts";
import { datatypeOf } from "./datatype.ts";
import { toSize } from "./model-metadata.ts";
import { fromRaw, type InputContext } from "./raw-tensor.ts";

/**
 * The input that a body stands for which is one tensor and nothing else (Triton's raw request): its name, datatype and shape
 * are those of the model's only input. A BYTES input gets the body as its one element, an image input may get a picture.
 * Throws `invalid_argument` where that cannot be deduced.
 */
export function toRawInput(
  specs: readonly TensorSpec[] | undefined,
  body: Uint8Array,
  context: InputContext,
): readonly [name: string, tensor: Tensor] {
  const [spec, ...others] = specs ?? [];
  if (spec === undefined || others.length > 0) {
    throw invalid(
      `Raw request must only have 1 input (found ${specs?.length ?? 0}) to be deduced but got model '${context.model}'`,
    );
  }
  const { name, dtype, shape } = spec;
  if (dtype === "bytes")
    return [
      name,
      createTensor(
        "bytes",
        (shape ?? [1]).map(() => 1),
        [body],
      ),
    ];
  const isPicture = takesPictures(spec) && imageFormat(body) !== undefined;
  if (isPicture) return [name, createTensor("bytes", [1], [body])];
  const sizes = deduceShape(spec, body.length / numericLayout(dtype).bytes, context.model);
  return [name, fromRaw({ name, datatype: datatypeOf(dtype)?.name ?? dtype, shape: sizes }, body, context)];
}

/** The shape with its open dimension filled in; where two are open the first is taken for the batch, which is 1. */
function deduceShape({ name, shape = [-1] }: TensorSpec, elements: number, model: string): readonly number[] {
  const sizes = shape.map(toSize);
  const isBatched = sizes[0] === -1 && sizes.indexOf(-1, 1) !== -1;
  if (isBatched) sizes[0] = 1;
  const open = sizes.indexOf(-1);
  if (open === -1) return sizes;
  if (sizes.indexOf(-1, open + 1) !== -1) {
    throw invalid(
      `The shape of Raw input tensor '${name}' can not be deduced because there are more than one variable-sized dimension in model '${model}'`,
    );
  }
  const known = sizes.reduce((product, size) => (size === -1 ? product : product * size), 1);
  return sizes.with(open, Math.floor(elements / known));
}

function invalid(message: string): ServingError {
  return new ServingError("invalid_argument", message);
}
