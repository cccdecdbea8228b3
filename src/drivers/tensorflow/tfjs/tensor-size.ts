import { invalidArgument, ServingError } from "../../../errors.ts";
import { elementCount } from "../../../tensor/tensor.ts";

/** A gigabyte of numbers of 32 bits: a quarter of what WebAssembly can address. */
const MAX_ELEMENTS = 2 ** 28;
/** A gigabyte of the references that a list of texts has. */
const MAX_TEXTS = 2 ** 24;

/**
 * The number of elements of a tensor that is to be made; throws `invalid_argument` for sizes that are none, and
 * `resource_exhausted` for more elements than memory is given for, before any is taken.
 */
export function sizeOfNew(shape: readonly number[], what: string, isText = false): number {
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
    throw invalidArgument(`${what} would have the shape [${shape}]: every size must be a whole number of 0 or more.`);
  }
  const count = elementCount(shape);
  const most = isText ? MAX_TEXTS : MAX_ELEMENTS;
  // As in TensorFlow, also the sizes of a tensor without elements have a product.
  if (count <= most && shape.reduce((product, size) => product * Math.max(size, 1), 1) <= Number.MAX_SAFE_INTEGER) {
    return count;
  }
  const reason = `which is more than the ${most} that a tensor may have here`;
  throw new ServingError("resource_exhausted", `${what} would have the shape [${shape}], ${reason}.`);
}
