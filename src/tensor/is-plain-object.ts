/**
 * Checks that a value is an object, and not an instance of a class: its prototype is an Object.prototype, of this realm
 * or another, or none.
 */
export function isPlainObject(value: unknown): value is { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
