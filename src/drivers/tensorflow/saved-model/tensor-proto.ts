import { failedPrecondition } from "../../../errors.ts";
import { type NumericData, type NumericDType, numericLayout, type TensorData } from "../../../tensor/dtype.ts";
import { createTensor, elementCount, type Tensor, viewBytes } from "../../../tensor/tensor.ts";
import { dataTypeName, toDType } from "./data-type.ts";
import type { TensorProto, TensorShape } from "./graph-def.ts";

/**
 * Texts that a constant has by repeating its last one: V8 ends the process if a list needs more memory than a thread
 * has.
 */
const MAX_REPEATED_TEXTS = 1 << 24;

type ValueField = Exclude<keyof TensorProto, "dtype" | "tensorShape" | "tensorContent" | "stringVal">;

/** Field of a TensorProto with the values of each dtype, when they are not in `tensor_content`. */
const FIELDS: Readonly<Record<NumericDType, ValueField>> = {
  float32: "floatVal",
  float64: "doubleVal",
  int32: "intVal",
  uint8: "intVal",
  int16: "intVal",
  int8: "intVal",
  uint16: "intVal",
  complex64: "scomplexVal",
  int64: "int64Val",
  bool: "boolVal",
  bfloat16: "halfVal",
  float16: "halfVal",
  complex128: "dcomplexVal",
  uint32: "uint32Val",
  uint64: "uint64Val",
};

/**
 * A constant of a graph as a tensor, by TensorFlow's rules: a short list repeats its last value, an empty one means
 * zeros. Throws `failed_precondition`.
 */
export function fromTensorProto(proto: TensorProto, where: string): Tensor {
  const dtype = toDType(proto.dtype);
  if (dtype === undefined)
    throw failedPrecondition(`${where} is of type ${dataTypeName(proto.dtype)}, which cannot be served.`);
  const shape = fromTensorShape(proto.tensorShape) ?? [];
  const count = elementCount(shape);
  try {
    const data = dtype === "bytes" ? readStrings(proto, count) : readNumbers(proto, dtype, count);
    return createTensor(dtype, shape, data as never);
  } catch (cause) {
    throw failedPrecondition(`The value of ${where} does not fill its shape [${shape}]: the model is damaged.`, cause);
  }
}

/** Dimensions, -1 for any size; undefined for any rank. No shape at all is a scalar's. */
export function fromTensorShape(shape: TensorShape | undefined): readonly number[] | undefined {
  if (shape === undefined) return [];
  return shape.unknownRank ? undefined : shape.dim.map(({ size }) => Number(size));
}

function readNumbers(proto: TensorProto, dtype: NumericDType, count: number): NumericData {
  if (proto.tensorContent.length > 0) return viewBytes(dtype, proto.tensorContent);
  const { array, slots } = numericLayout(dtype);
  const data = new array(count * slots);
  const values = proto[FIELDS[dtype]] as readonly (number | bigint | boolean)[];
  const given = Math.min(values.length, data.length);
  for (let index = 0; index < given; index++) data[index] = plain(values[index]!) as never;
  if (given === 0) return data;
  for (let index = given; index < data.length; index++) data[index] = data[index - slots] as never;
  return data;
}

function plain(value: number | bigint | boolean): number | bigint {
  return typeof value === "boolean" ? Number(value) : value;
}

function readStrings({ tensorContent, stringVal }: TensorProto, count: number): TensorData<"bytes"> {
  if (tensorContent.length > 0) return splitStrings(tensorContent, count);
  if (count - stringVal.length > MAX_REPEATED_TEXTS) throw new RangeError(`${count} texts from ${stringVal.length}`);
  const last = stringVal.at(-1) ?? new Uint8Array(0);
  return Array.from({ length: count }, (_, index) => stringVal[index] ?? last);
}

/**
 * Strings as TensorFlow writes many: the lengths of all as varints, `gapBytes` of
 * something else, then the bytes of all. Throws RangeError if there are fewer.
 */
export function splitStrings(content: Uint8Array, count: number, gapBytes = 0): Uint8Array[] {
  if (count > content.length) throw new RangeError(`${count} texts in ${content.length} bytes`);
  let position = 0;
  const lengths = Array.from({ length: count }, () => {
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = content[position++] ?? 0;
      length += (byte & 0x7f) * scale;
      if (byte < 0x80) return length;
    }
  });
  position += gapBytes;
  return lengths.map((length) => {
    position += length;
    return content.subarray(position - length, position);
  });
}
