import { packedFields, varintsField } from "../../tensor/codecs/protobuf/packed-fields.ts";
import {
  type NarrowIntegers,
  type WideIntegers,
  wideVarintSize,
  writeVarint,
} from "../../tensor/codecs/protobuf/packed-varints.ts";
import { bytesTag, tagOf, WIRE } from "../../tensor/codecs/protobuf/wire-reader.ts";
import { bytesField, delimited, integerField, type WirePart } from "../../tensor/codecs/protobuf/wire-writer.ts";
import { packedOf } from "../../tensor/packed-bytes.ts";
import { type Tensor, toBytes } from "../../tensor/tensor.ts";
import { TENSOR_PROTO, TENSOR_SHAPE, typeOfDType } from "./tensor-proto.ts";

/**
 * Place of numbers: `typed` = the field of their type (`float_val` …), which every TensorFlow Serving client reads;
 * `content` = `tensor_content`, raw and fast. Strings are written to `string_val` either way: clients cannot read them
 * in `tensor_content`.
 */
export type TensorEncoding = "typed" | "content";

/** The fields of a tensor's TensorProto. */
export function tensorProtoParts(tensor: Tensor, encoding: TensorEncoding): WirePart[] {
  const { number } = typeOfDType(tensor.dtype);
  return [integerField(TENSOR_PROTO.dtype, number), shapeField(tensor.shape), ...valueFields(tensor, encoding)];
}

/**
 * Present also for a scalar, as TensorFlow writes it. Every tensor has one: parts for
 * each dimension would cost more than all else.
 */
function shapeField(shape: readonly number[]): WirePart {
  let bytes = 0;
  for (const size of shape) bytes += 2 + dimBytes(size);
  return delimited(TENSOR_PROTO.shape, bytes, (target, position) => {
    let end = position;
    for (const size of shape) end = writeDim(size, target, end);
    return end;
  });
}

/** Of a Dim's content: a size of 0 goes without saying. */
function dimBytes(size: number): number {
  return size === 0 ? 0 : 1 + wideVarintSize(size >>> 0, highOf(size));
}

function writeDim(size: number, target: Buffer, position: number): number {
  target[position] = bytesTag(TENSOR_SHAPE.dim);
  target[position + 1] = dimBytes(size);
  if (size === 0) return position + 2;
  target[position + 2] = tagOf(TENSOR_SHAPE.dimSize, WIRE.varint);
  return writeVarint(size >>> 0, highOf(size), target, position + 3);
}

function highOf(size: number): number {
  return Math.floor(size / 2 ** 32);
}

function valueFields(tensor: Tensor, encoding: TensorEncoding): WirePart[] {
  const type = typeOfDType(tensor.dtype);
  const packed = packedOf(tensor);
  if (packed !== undefined) return [packedFields(type.field, packed)];
  if (tensor.dtype === "bytes") return tensor.data.map((element) => bytesField(type.field, element));
  if (tensor.data.length === 0) return [];
  if (encoding === "content") return [bytesField(TENSOR_PROTO.content, toBytes(tensor.data))];
  if (type.encoding === "block") return [bytesField(type.field, toBytes(tensor.data))];
  return [varintsField(type.field, tensor.data as NarrowIntegers | WideIntegers)];
}
