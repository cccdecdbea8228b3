import type { TensorSpec } from "../signature/signature.ts";

/** A tensor's type and sizes in messages: `float32[-1,10]`. */
export function specText({ dtype, shape }: TensorSpec): string {
  const sizes = shape?.map((size) => (typeof size === "object" ? `${size.min}..${size.max}` : String(size)));
  return sizes === undefined ? dtype : `${dtype}[${sizes.join(",")}]`;
}
