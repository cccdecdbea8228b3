import type { NumericData, NumericDType } from "../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor } from "../../tensor/tensor.ts";
import type { LeftOut } from "./json-outline.ts";

/**
 * Cuts values that an outline lacks into parts of about `maxElements` at most, with the brackets and separators between
 * them: the texts of all, in order, are that of the whole.
 */
export function* splitItems({ items, style }: LeftOut, maxElements: number): Generator<Uint8Array | LeftOut> {
  const [count = 0, ...inner] = items.shape;
  const stride = count === 0 ? 0 : elementCount(items.shape) / count;
  const atOnce = Math.max(1, Math.floor(maxElements / stride));
  const isDeep = stride > maxElements && inner.length > 0;
  for (let from = 0; from < count; from += atOnce) {
    if (from > 0) yield Buffer.from(style.separator);
    const part = rows(items, from, Math.min(from + atOnce, count));
    if (isDeep) yield* listOf({ items: { ...part, shape: inner } as Tensor, style }, maxElements);
    else yield { items: part, style };
  }
}

function* listOf(leftOut: LeftOut, maxElements: number): Generator<Uint8Array | LeftOut> {
  yield Buffer.from("[");
  yield* splitItems(leftOut, maxElements);
  yield Buffer.from("]");
}

function rows({ dtype, shape, data }: Tensor, from: number, end: number): Tensor {
  const stride = elementCount(shape) / shape[0]!;
  const part = (data as NumericData).subarray(from * stride, end * stride);
  return createTensor(dtype as NumericDType, [end - from, ...shape.slice(1)], part as never);
}
