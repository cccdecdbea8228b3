import type { NumericData } from "../tensor/dtype.ts";
import { type Tensor, toBytes } from "../tensor/tensor.ts";
import {
  type NarrowIntegers,
  narrowVarintsSize,
  type WideIntegers,
  wideVarintsSize,
  writeNarrowVarints,
  writeWideVarints,
} from "./packed-varints.ts";
import { TENSOR_PROTO, TENSOR_SHAPE, typeOfDType } from "./tensor-proto.ts";
import { bytesField, delimited, integerField, messageField, type WirePart } from "./wire-writer.ts";

/**
 * Where numbers go: `typed` = the field of their type (`float_val` …), which every TensorFlow Serving client reads;
 * `content` = `tensor_content`, raw and fast. Strings go to `string_val` either way: clients cannot read them in `tensor_content`.
 */
export type TensorEncoding = "typed" | "content";

/** The fields of a tensor's TensorProto. */
export function tensorProtoParts(tensor: Tensor, encoding: TensorEncoding): WirePart[] {
  const { number } = typeOfDType(tensor.dtype);
  return [integerField(TENSOR_PROTO.dtype, number), shapeField(tensor.shape), ...valueFields(tensor, encoding)];
}

/** Present also for a scalar, as TensorFlow writes it. */
function shapeField(shape: readonly number[]): WirePart {
  const dims = shape.map((size) => messageField(TENSOR_SHAPE.dim, [integerField(TENSOR_SHAPE.dimSize, size)]));
  return messageField(TENSOR_PROTO.shape, dims);
}

function valueFields(tensor: Tensor, encoding: TensorEncoding): WirePart[] {
  const type = typeOfDType(tensor.dtype);
  if (tensor.dtype === "bytes") return tensor.data.map((element) => bytesField(type.field, element));
  if (tensor.data.length === 0) return [];
  if (encoding === "content") return [bytesField(TENSOR_PROTO.content, toBytes(tensor.data))];
  if (type.encoding === "block") return [bytesField(type.field, toBytes(tensor.data))];
  return [varintsField(type.field, tensor.data)];
}

function varintsField(field: number, values: NumericData): WirePart {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) return wideField(field, values);
  const narrow = values as NarrowIntegers;
  return delimited(field, narrowVarintsSize(narrow), (target, position) =>
    writeNarrowVarints(narrow, target, position),
  );
}

function wideField(field: number, values: WideIntegers): WirePart {
  return delimited(field, wideVarintsSize(values), (target, position) => writeWideVarints(values, target, position));
}
