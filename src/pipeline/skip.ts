import { SKIP_KEY } from "../hooks/hooks.ts";
import type { Values } from "../tensor/plain-value.ts";
import { isTensor } from "../tensor/tensor.ts";

/** Removes the marker from the values that preprocess returned, and reports if it asked to skip its model. */
export function takeSkip(values: Values): { readonly skip: boolean; readonly values: Values } {
  if (!Object.hasOwn(values, SKIP_KEY)) return { skip: false, values };
  const { [SKIP_KEY]: marker, ...rest } = values;
  return { skip: isTruthy(marker), values: rest };
}

/** A tensor or array is truthy when any element is. */
function isTruthy(marker: unknown): boolean {
  if (isTensor(marker)) return isTruthy(marker.data);
  if (Array.isArray(marker) || ArrayBuffer.isView(marker)) {
    return Array.from(marker as ArrayLike<unknown>).some((element) => isTruthy(element));
  }
  return Boolean(marker);
}
