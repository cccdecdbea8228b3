import { fromBfloat16, fromFloat16, toBfloat16, toFloat16 } from "../tensor/float16.ts";
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
    write: (view, at, value) => view.setUint16(at, toFloat16(value), true),
    read: (view, at) => fromFloat16(view.getUint16(at, true)),
  },
  BF16: {
    bytes: 2,
    write: (view, at, value) => view.setUint16(at, toBfloat16(value), true),
    read: (view, at) => fromBfloat16(view.getUint16(at, true)),
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
