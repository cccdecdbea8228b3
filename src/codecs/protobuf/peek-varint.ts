/**
 * A varint's low 32 bits, and the index behind it, in bytes that nothing has checked: past their end it reads zeros.
 */
export function peekVarint(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let end = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[end++] ?? 0;
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { value: value >>> 0, end };
  }
}
