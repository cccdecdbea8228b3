import type { Element } from "./form-tensor.ts";

type Write = (view: DataView, at: number, value: never) => void;

/** Bytes of an element, and how it is written and read: KServe V2's binary form is little-endian. */
interface Layout {
  readonly bytes: number;
  readonly write: Write;
  readonly read: (view: DataView, at: number) => Element;
}

const LAYOUTS: Readonly<Record<string, Layout>> = {
  BOOL: {
    bytes: 1,
    write: (view, at, value) => view.setUint8(at, value ? 1 : 0),
    read: (view, at) => view.getUint8(at) !== 0,
  },
  INT8: { bytes: 1, write: (view, at, value) => view.setInt8(at, value), read: (view, at) => view.getInt8(at) },
  UINT8: { bytes: 1, write: (view, at, value) => view.setUint8(at, value), read: (view, at) => view.getUint8(at) },
  INT16: {
    bytes: 2,
    write: (view, at, value) => view.setInt16(at, value, true),
    read: (view, at) => view.getInt16(at, true),
  },
  UINT16: {
    bytes: 2,
    write: (view, at, value) => view.setUint16(at, value, true),
    read: (view, at) => view.getUint16(at, true),
  },
  INT32: {
    bytes: 4,
    write: (view, at, value) => view.setInt32(at, value, true),
    read: (view, at) => view.getInt32(at, true),
  },
  UINT32: {
    bytes: 4,
    write: (view, at, value) => view.setUint32(at, value, true),
    read: (view, at) => view.getUint32(at, true),
  },
  INT64: {
    bytes: 8,
    write: (view, at, value) => view.setBigInt64(at, value, true),
    read: (view, at) => view.getBigInt64(at, true),
  },
  UINT64: {
    bytes: 8,
    write: (view, at, value) => view.setBigUint64(at, value, true),
    read: (view, at) => view.getBigUint64(at, true),
  },
  FP16: {
    bytes: 2,
    write: (view, at, value) => view.setUint16(at, toHalf(value), true),
    read: (view, at) => fromHalf(view.getUint16(at, true)),
  },
  BF16: {
    bytes: 2,
    write: (view, at, value) => view.setUint16(at, toBrain(value), true),
    read: (view, at) => fromBrain(view.getUint16(at, true)),
  },
  FP32: {
    bytes: 4,
    write: (view, at, value) => view.setFloat32(at, value, true),
    read: (view, at) => view.getFloat32(at, true),
  },
  FP64: {
    bytes: 8,
    write: (view, at, value) => view.setFloat64(at, value, true),
    read: (view, at) => view.getFloat64(at, true),
  },
};

/** The binary form of a tensor's elements; of BYTES each after four bytes of length. Throws for a datatype without one. */
export function toBinary(datatype: string, values: readonly Element[]): Uint8Array<ArrayBuffer> {
  if (datatype === "BYTES") return joinTexts(values.map(toBytes));
  const { bytes, write } = layoutOf(datatype);
  const view = new DataView(new ArrayBuffer(values.length * bytes));
  for (const [index, value] of values.entries()) write(view, index * bytes, value as never);
  return new Uint8Array(view.buffer);
}

/** The elements of {@link toBinary}. */
export function fromBinary(datatype: string, data: Uint8Array): Element[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (datatype === "BYTES") return splitTexts(data, view);
  const { bytes, read } = layoutOf(datatype);
  return Array.from({ length: Math.floor(data.length / bytes) }, (_, index) => read(view, index * bytes));
}

function layoutOf(datatype: string): Layout {
  const layout = LAYOUTS[datatype];
  if (layout === undefined) throw new Error(`The page has no form for ${datatype}.`);
  return layout;
}

function toBytes(value: Element): Uint8Array {
  return value instanceof Uint8Array ? value : new TextEncoder().encode(String(value));
}

function joinTexts(texts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(texts.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(joined.buffer);
  let at = 0;
  for (const text of texts) {
    view.setUint32(at, text.length, true);
    joined.set(text, at + 4);
    at += 4 + text.length;
  }
  return joined;
}

function splitTexts(data: Uint8Array, view: DataView): Uint8Array[] {
  const texts: Uint8Array[] = [];
  for (let at = 0; at + 4 <= data.length; ) {
    const length = view.getUint32(at, true);
    texts.push(data.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return texts;
}

const floatBits = new DataView(new ArrayBuffer(4));

function toBrain(value: number): number {
  floatBits.setFloat32(0, value);
  return floatBits.getUint16(0);
}

function fromBrain(bits: number): number {
  floatBits.setUint32(0, bits << 16);
  return floatBits.getFloat32(0);
}

/** Rounds to the nearest, which is enough for a form. */
function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(size)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const power = Math.floor(Math.log2(size));
  // A mantissa that rounds up to 1024 carries into the exponent by the addition.
  return sign | (((power + 15) << 10) + Math.round((size / 2 ** power - 1) * 1024));
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [power, part] = [(bits >> 10) & 31, bits & 1023];
  if (power === 31) return part === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (power === 0 ? part * 2 ** -24 : (1 + part / 1024) * 2 ** (power - 15));
}
