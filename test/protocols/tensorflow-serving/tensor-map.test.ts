import { describe, expect, it } from "vitest";
import { ServingError } from "../../../src/errors.ts";
import { DecodeBudget } from "../../../src/platform/limits/memory/decode-budget.ts";
import { toTensor } from "../../../src/protocols/tensorflow-serving/tensor-map.ts";
import { TensorProtoFields } from "../../../src/protocols/tensorflow-serving/tensor-proto-fields.ts";
import { WireReader } from "../../../src/tensor/codecs/protobuf/wire-reader.ts";
import {
  bytesField,
  encodeMessage,
  integerField,
  messageField,
  type WirePart,
} from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { DTYPES } from "../../../src/tensor/dtype.ts";
import { createTensor, type Tensor } from "../../../src/tensor/tensor.ts";
import { oracle, type Plain } from "../../grpc/oracle.ts";
import { comparable, contentProto, typedProto } from "../../grpc/plain-tensor.ts";
import { Random } from "../../grpc/random.ts";
import { raw } from "../../grpc/raw-part.ts";

const MEGABYTE = 1024 * 1024;
const DT = { float: 1, int32: 3, uint8: 4, int8: 6, string: 7, complex64: 8, int64: 9, bool: 10, half: 19 };

function read(bytes: Uint8Array, maxBytes = MEGABYTE): Tensor {
  const budget = new DecodeBudget(maxBytes);
  const fields = new TensorProtoFields(budget);
  fields.merge(new WireReader(bytes, "TensorProto"));
  return toTensor(fields, "x", budget);
}

/** A TensorProto of these fields. */
function proto(dtype: number, ...parts: WirePart[]): Uint8Array {
  return encodeMessage([integerField(1, dtype), ...parts]);
}

function shape(...sizes: (number | bigint)[]): WirePart {
  return messageField(
    2,
    sizes.map((size) => messageField(2, [integerField(1, size)])),
  );
}

function floats(...values: number[]): Uint8Array {
  return new Uint8Array(new Float32Array(values).buffer);
}

/** The TensorProto that protobufjs writes: the value of the only entry of a request's map. */
function judged(message: Plain): Uint8Array {
  const request = new WireReader(oracle.encodeRequest({ inputs: { x: message } }), "PredictRequest");
  request.tag();
  const entry = request.nested("entry");
  entry.tag();
  entry.text();
  entry.tag();
  return entry.bytes();
}

function refusal(bytes: Uint8Array, maxBytes?: number): string {
  try {
    read(bytes, maxBytes);
  } catch (reason) {
    expect(reason).toBeInstanceOf(ServingError);
    expect((reason as ServingError).code).toBe("invalid_argument");
    return (reason as ServingError).message;
  }
  throw new Error("It was not refused.");
}

describe.each(DTYPES)("a %s tensor", (dtype) => {
  it("is read from what protobufjs writes, as typed values and as tensor_content", () => {
    const random = new Random(DTYPES.indexOf(dtype));
    for (let round = 0; round < 60; round++) {
      const tensor = random.tensor(dtype);
      expect(comparable(read(judged(typedProto(tensor))))).toEqual(comparable(tensor));
      expect(comparable(read(judged(contentProto(tensor))))).toEqual(comparable(tensor));
    }
  });

  it("is all default values where only the shape is given", () => {
    const empty = { ...typedProto(createTensor("uint8", [2, 3], new Uint8Array(6))), int_val: [] };
    const tensor = read(judged({ ...empty, dtype: typedProto({ dtype, shape: [], data: [] } as never).dtype }));
    expect(tensor.shape).toEqual([2, 3]);
    const values =
      tensor.dtype === "bytes" ? tensor.data.map((element) => element.length) : Array.from<unknown>(tensor.data);
    expect(values.length).toBeGreaterThanOrEqual(6);
    expect(values.every((value) => value === 0 || value === 0n)).toBe(true);
  });
});

describe("typed values", () => {
  it("repeat the last one where the list is short", () => {
    expect(read(proto(DT.float, shape(4), bytesField(5, floats(1, 2)))).data).toEqual(Float32Array.of(1, 2, 2, 2));
    expect(read(proto(DT.int64, shape(3), bytesField(10, Uint8Array.of(1, 7)))).data).toEqual(
      BigInt64Array.of(1n, 7n, 7n),
    );
    expect(read(proto(DT.bool, shape(3), bytesField(11, Uint8Array.of(1)))).data).toEqual(Uint8Array.of(1, 1, 1));
    expect(read(proto(DT.complex64, shape(2), bytesField(9, floats(1, -1)))).data).toEqual(
      Float32Array.of(1, -1, 1, -1),
    );
    const texts = read(proto(DT.string, shape(2), bytesField(8, Buffer.from("a")))).data as Uint8Array[];
    expect(texts.map(String)).toEqual(["97", "97"]);
  });

  it("are cut where the list is long", () => {
    expect(read(proto(DT.float, shape(1), bytesField(5, floats(1, 2)))).data).toEqual(Float32Array.of(1));
    expect(read(proto(DT.int32, shape(1), bytesField(7, Uint8Array.of(5, 6)))).data).toEqual(Int32Array.of(5));
    expect(read(proto(DT.string, shape(0), bytesField(8, Buffer.from("a")))).data).toEqual([]);
  });

  it("are a scalar where no shape is given", () => {
    expect(read(proto(DT.float, bytesField(5, floats(3))))).toEqual(createTensor("float32", [], Float32Array.of(3)));
  });

  it("may be packed, unpacked, split, or all of it in one list", () => {
    const one = [0, 0, 0x80, 0x3f];
    const split = [raw(0x2d, ...one), bytesField(5, floats(2, 3)), raw(0x2d, ...one), bytesField(5, floats())];
    expect(read(proto(DT.float, ...split, shape(4))).data).toEqual(Float32Array.of(1, 2, 3, 1));
    const varints = [raw(0x38, 0x96, 0x01), bytesField(7, Uint8Array.of(1, 2)), raw(0x38, 3)];
    expect(read(proto(DT.int32, ...varints, shape(4))).data).toEqual(Int32Array.of(150, 1, 2, 3));
  });

  it("take the low bits of numbers that are too large for the type, as TensorFlow's cast does", () => {
    expect(read(proto(DT.uint8, shape(2), bytesField(7, Uint8Array.of(0x81, 0x02, 0xff, 0x01)))).data).toEqual(
      Uint8Array.of(1, 255),
    );
    expect(read(proto(DT.half, shape(1), bytesField(13, Uint8Array.of(0x80, 0x78)))).data).toEqual(
      Uint16Array.of(0x3c00),
    );
  });

  it("take any number but 0 for true", () => {
    expect(read(proto(DT.bool, shape(2), bytesField(11, Uint8Array.of(0x80, 0x02, 0)))).data).toEqual(
      Uint8Array.of(1, 0),
    );
  });

  it("are passed over where tensor_content has the values, and not where it is empty", () => {
    const values = bytesField(5, floats(9));
    expect(read(proto(DT.float, values, bytesField(4, floats(1)))).data).toEqual(Float32Array.of(1));
    expect(read(proto(DT.float, values, bytesField(4, floats()))).data).toEqual(Float32Array.of(9));
  });

  it("of another type's field are passed over", () => {
    expect(read(proto(DT.int32, bytesField(5, floats(9)), shape(1))).data).toEqual(Int32Array.of(0));
  });
});

describe("a tensor's memory", () => {
  it("views the message where the address allows, and copies where it does not", () => {
    const message = encodeMessage([bytesField(4, floats(1, 2)), integerField(1, DT.float), shape(2)]);
    const [aligned, shifted] = [6, 7].map((offset) => {
      const buffer = new Uint8Array(message.length + 8);
      buffer.set(message, offset);
      return read(buffer.subarray(offset, offset + message.length)).data as Float32Array;
    });
    expect(aligned).toEqual(Float32Array.of(1, 2));
    expect(aligned?.byteOffset).toBe(8);
    expect(shifted).toEqual(Float32Array.of(1, 2));
    expect(shifted?.buffer).not.toBe(aligned?.buffer);
  });

  it("costs nothing where the values lie in the message as they are", () => {
    const values = new Uint8Array(4000);
    for (const field of [4, 5]) {
      expect(read(proto(DT.float, shape(1000), bytesField(field, values)), 0).shape).toEqual([1000]);
    }
  });

  it("is refused before it is taken", () => {
    expect(refusal(proto(DT.float, shape(2 ** 31)))).toBe(
      "tensor parsing error: x: shape [2147483648] of DT_FLOAT takes 8589934592 bytes in memory, 1048576 of 1048576 are left for this message; send less, or raise --max-message-bytes",
    );
    expect(refusal(proto(DT.string, shape(2 ** 31)))).toContain(
      "shape [2147483648] of DT_STRING takes 137438953472 bytes",
    );
    expect(refusal(proto(DT.string, shape(2 ** 31), bytesField(4, Uint8Array.of(1))))).toContain("takes 137438953472");
    expect(refusal(proto(DT.string, shape(1000), bytesField(8, new Uint8Array(2000))))).toContain(
      "takes 2061936 bytes",
    );
  });

  it("is refused for more strings than fit, before the shape is known", () => {
    const strings = Array.from({ length: 20_000 }, () => bytesField(8, new Uint8Array(0)));
    expect(refusal(proto(DT.string, ...strings))).toContain("one more string_val takes 64 bytes");
  });
});

describe("what TensorFlow cannot parse either", () => {
  it.each([
    [
      "a missing dtype",
      encodeMessage([shape(1)]),
      "dtype is missing (DT_INVALID); expected one of DT_FLOAT, DT_DOUBLE",
    ],
    ["a reference", proto(101), "dtype DT_FLOAT_REF is not supported; expected one of DT_FLOAT"],
    ["a quantized type", proto(11), "dtype DT_QINT8 is not supported"],
    ["a resource", proto(20), "dtype DT_RESOURCE is not supported"],
    ["a variant", proto(21), "dtype DT_VARIANT is not supported"],
    ["a type that does not exist", proto(77), "dtype 77 is not supported"],
    ["a negative type", proto(-1), "dtype 4294967295 is not supported"],
    [
      "a negative dimension",
      proto(DT.float, shape(2, -1)),
      "Shape [2,-1] has dimension -1; expected an integer of 0 or more.",
    ],
    ["a dimension beyond exact numbers", proto(DT.float, shape(2n ** 62n)), "expected an integer of 0 or more"],
    ["an overflowing shape", proto(DT.float, shape(2 ** 40, 2 ** 40)), "has more elements than can be counted"],
    [
      "an unknown rank",
      proto(DT.float, messageField(2, [integerField(3, 1)])),
      "tensor_shape has unknown_rank; the rank of a value is known",
    ],
    [
      "a rank of 255",
      proto(DT.float, shape(...new Array(255).fill(1))),
      "tensor_shape has 255 dimensions; expected at most 254",
    ],
    [
      "short content",
      proto(DT.float, shape(2), bytesField(4, new Uint8Array(5))),
      "tensor_content has 5 bytes, shape [2] of DT_FLOAT needs 8",
    ],
    [
      "long content",
      proto(DT.float, shape(0), bytesField(4, new Uint8Array(4))),
      "tensor_content has 4 bytes, shape [0] of DT_FLOAT needs 0",
    ],
    [
      "half a complex number",
      proto(DT.complex64, shape(1), bytesField(9, floats(1))),
      "scomplex_val holds an odd count of numbers; expected pairs",
    ],
    [
      "content with too few strings",
      proto(DT.string, shape(2), bytesField(4, Uint8Array.of(0))),
      "Malformed tensor_content: it ends inside a varint",
    ],
    [
      "content with a string cut short",
      proto(DT.string, shape(1), bytesField(4, Uint8Array.of(2, 65))),
      "Malformed tensor_content: a field claims 2 bytes, 1 are left",
    ],
    [
      "content with bytes after its strings",
      proto(DT.string, shape(1), bytesField(4, Uint8Array.of(1, 65, 66))),
      "tensor_content has more bytes than the strings of shape [1] of DT_STRING",
    ],
    [
      "a varint of 11 bytes",
      proto(DT.int32, shape(1), bytesField(7, Uint8Array.of(...new Array(10).fill(0x80), 0))),
      "Malformed packed field: a varint is longer than 10 bytes",
    ],
  ])("is refused with TensorFlow Serving's text and what was wrong: %s", (_case, bytes, detail) => {
    const message = refusal(bytes);
    expect(message).toMatch(/^tensor parsing error: x: /);
    expect(message).toContain(detail);
  });

  it.each([
    [
      "half a float",
      bytesField(5, new Uint8Array(6)),
      "Malformed TensorProto: field 5 is not a whole number of values",
    ],
    ["half a double", bytesField(6, new Uint8Array(12)), "field 6 is not a whole number of values"],
    ["a varint without an end", bytesField(7, Uint8Array.of(0x80)), "Malformed packed field: it ends inside a varint"],
  ])("includes packed fields with %s", (_case, part, detail) => {
    expect(refusal(proto(DT.float, part, raw(0x38, 1)))).toContain(detail);
  });
});

it("merges what comes in several messages, and takes fields in any order", () => {
  const budget = new DecodeBudget(MEGABYTE);
  const fields = new TensorProtoFields(budget);
  const first = encodeMessage([bytesField(7, Uint8Array.of(1)), shape(2), integerField(1, DT.float)]);
  const second = encodeMessage([bytesField(7, Uint8Array.of(2, 3)), integerField(1, DT.int8), shape(2), raw(0x18, 9)]);
  for (const bytes of [first, second]) fields.merge(new WireReader(bytes, "TensorProto"));
  expect(toTensor(fields, "x", budget)).toEqual(createTensor("int8", [2, 2], Int8Array.of(1, 2, 3, 3)));
});
