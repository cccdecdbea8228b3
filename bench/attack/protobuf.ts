/** A base-128 varint. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** A field of bytes, text or a nested message. */
export function bytesField(field: number, ...contents: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(contents.map((content) => Buffer.from(content)));
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
}

/** A field of one varint. */
export function varintField(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

/** The same bytes again and again. */
export function repeated(unit: Buffer | string, count: number): Buffer {
  const bytes = Buffer.from(unit);
  return Buffer.alloc(bytes.length * count, bytes);
}
