/**
 * Checks that an object is not an instance of a class: its prototype is an Object.prototype, of this realm or another,
 * or none.
 */
export function isPlainObject(value: object): value is { readonly [key: string]: unknown } {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
