import { koffi } from "./koffi.ts";

/** The memory of the texts; kept as long as the array of their addresses. */
const contents = new WeakMap<BigUint64Array, Buffer>();

/**
 * A list of texts as C takes it, `const char *const *`: their addresses. They stay
 * where they are as long as the array is referenced.
 */
export function toCTexts(texts: readonly Uint8Array[]): BigUint64Array {
  const length = texts.reduce((sum, text) => sum + text.length + 1, 0);
  const addresses = new BigUint64Array(texts.length);
  if (length === 0) return addresses;
  // In memory of its own, which V8 does not move.
  const content = Buffer.allocUnsafeSlow(length);
  const start = koffi.address(content);
  let at = 0;
  for (const [index, text] of texts.entries()) {
    content.set(text, at);
    addresses[index] = start + BigInt(at);
    at += text.length;
    content[at++] = 0;
  }
  contents.set(addresses, content);
  return addresses;
}
