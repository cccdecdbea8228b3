import type { Dimension, Signature, TensorSpec } from "./signature.ts";

/**
 * Checks that code for the former signatures works with the present ones: each of them is there, takes the inputs that
 * it took and gives the outputs that it gave. What either side does not say counts as equal.
 */
export function staysCompatible(
  before: Readonly<Record<string, Signature>>,
  now: Readonly<Record<string, Signature>>,
): boolean {
  return Object.entries(before).every(([name, { inputs, outputs }]) => {
    const same = Object.hasOwn(now, name) ? now[name] : undefined;
    return same !== undefined && takesAll(inputs, same.inputs) && hasAll(outputs, same.outputs);
  });
}

/** A request of before lacks a new input, which is possible if that has a default. */
function takesAll(before: readonly TensorSpec[] | undefined, now: readonly TensorSpec[] | undefined): boolean {
  if (before === undefined || now === undefined) return true;
  return hasAll(before, now) && now.every((spec) => spec.default !== undefined || hasAll([spec], before));
}

function hasAll(wanted: readonly TensorSpec[] | undefined, found: readonly TensorSpec[] | undefined): boolean {
  if (wanted === undefined || found === undefined) return true;
  return wanted.every((spec) => found.some((other) => other.name === spec.name && isAlike(spec, other)));
}

function isAlike(one: TensorSpec, other: TensorSpec): boolean {
  return one.dtype === other.dtype && areAlike(one.shape, other.shape);
}

/** Sizes that are open on either side fit. */
function areAlike(one: readonly Dimension[] | undefined, other: readonly Dimension[] | undefined): boolean {
  if (one === undefined || other === undefined) return true;
  return one.length === other.length && one.every((size, axis) => overlap(size, other[axis] as Dimension));
}

function overlap(one: Dimension, other: Dimension): boolean {
  if (one === -1 || other === -1) return true;
  const [a, b] = [rangeOf(one), rangeOf(other)];
  return a.min <= b.max && b.min <= a.max;
}

function rangeOf(size: Dimension): { readonly min: number; readonly max: number } {
  return typeof size === "number" ? { min: size, max: size } : size;
}
