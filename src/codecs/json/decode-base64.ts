/**
 * The bytes of base64 in the standard alphabet, or undefined for any other text. White space is skipped, and the padding
 * may be left out, but is right where it is there.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = /\s/.test(text) ? text.replace(/[ \t\r\n\f\v]+/g, "") : text;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) return undefined;
  const digits = packed.endsWith("=") ? packed.indexOf("=") : packed.length;
  if (digits % 4 === 1 || (digits < packed.length && packed.length % 4 !== 0)) return undefined;
  return Buffer.from(packed, "base64");
}
