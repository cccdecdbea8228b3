/** Checks that a value is a Buffer of Node; nothing is one in a browser. */
export function isBuffer(value: unknown): value is Buffer {
  return typeof Buffer !== "undefined" && Buffer.isBuffer(value);
}
