import { fromDType } from "../saved-model/data-type.ts";

// Field numbers of TensorProto, TensorShapeProto and TensorShapeProto.Dim, with their wire types.
const DTYPE = 0x08;
const SHAPE = 0x12;
const STRING_VAL = 0x42;
const DIM = 0x12;
const SIZE = 0x08;
/** Bytes of the longest varint that a size can be. */
const MAX_VARINT_BYTES = 10;

/** The bytes of a TensorProto of strings; written by hand, since a request may have many. */
export function toStringTensorProto(shape: readonly number[], strings: readonly Uint8Array[]): Uint8Array {
  const dims = shape.flatMap((size) => [DIM, 1 + varint(size).length, SIZE, ...varint(size)]);
  const head = [DTYPE, fromDType("bytes"), SHAPE, ...varint(dims.length), ...dims];
  const room = strings.reduce((sum, { length }) => sum + 1 + MAX_VARINT_BYTES + length, head.length);
  const bytes = new Uint8Array(room);
  bytes.set(head);
  let end = head.length;
  for (const string of strings) {
    bytes[end] = STRING_VAL;
    end = writeVarint(bytes, end + 1, string.length);
    bytes.set(string, end);
    end += string.length;
  }
  return bytes.subarray(0, end);
}

function varint(value: number): readonly number[] {
  const bytes = new Uint8Array(MAX_VARINT_BYTES);
  return [...bytes.subarray(0, writeVarint(bytes, 0, value))];
}

function writeVarint(bytes: Uint8Array, start: number, value: number): number {
  let end = start;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[end++] = (rest % 0x80) | 0x80;
  bytes[end++] = rest;
  return end;
}
