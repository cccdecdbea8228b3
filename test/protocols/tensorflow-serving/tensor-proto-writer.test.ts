import { describe, expect, it } from "vitest";
import { predictResponseParts } from "../../../src/protocols/tensorflow-serving/grpc-codec.ts";
import type { TensorEncoding } from "../../../src/protocols/tensorflow-serving/tensor-proto-writer.ts";
import { encodeMessage } from "../../../src/tensor/codecs/protobuf/wire-writer.ts";
import { DTYPES } from "../../../src/tensor/dtype.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { oracle } from "../../grpc/oracle.ts";
import { contentProto, typedProto } from "../../grpc/plain-tensor.ts";
import { Random } from "../../grpc/random.ts";

/** Our message as protobufjs reads it. */
function judged(tensor: Tensor, encoding: TensorEncoding): unknown {
  const spec = { model: "", signature: "", versionEncoding: "int64" } as const;
  const bytes = encodeMessage(predictResponseParts({ spec, outputs: createTensors([["y", tensor]]) }, encoding));
  return (oracle.decodeResponse(bytes).outputs as Record<string, unknown>).y;
}

describe.each(DTYPES)("a %s tensor", (dtype) => {
  it("is written so that protobufjs reads the same, as typed values and as tensor_content", () => {
    const random = new Random(100 + DTYPES.indexOf(dtype));
    for (let round = 0; round < 60; round++) {
      const tensor = random.tensor(dtype);
      expect(judged(tensor, "typed")).toEqual(typedProto(tensor));
      expect(judged(tensor, "content")).toEqual(dtype === "bytes" ? typedProto(tensor) : contentProto(tensor));
    }
  });
});

it("writes 64-bit integers exactly, to both ends of their range", () => {
  const signed = [
    0n,
    1n,
    -1n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    2n ** 32n,
    -(2n ** 32n),
    2n ** 31n,
    2n ** 35n,
  ];
  const int64 = createTensor("int64", [signed.length], BigInt64Array.from(signed));
  expect(judged(int64, "typed")).toMatchObject({ int64_val: signed.map(String) });
  const unsigned = [0n, 2n ** 64n - 1n, 2n ** 63n, 127n, 128n, 2n ** 28n, 2n ** 56n];
  const uint64 = createTensor("uint64", [unsigned.length], BigUint64Array.from(unsigned));
  expect(judged(uint64, "typed")).toMatchObject({ uint64_val: unsigned.map(String) });
});

it("writes a view of a larger array as what the view shows", () => {
  const view = new Float32Array([9, 1, 2, 9]).subarray(1, 3);
  expect(judged(createTensor("float32", [2], view), "typed")).toMatchObject({ float_val: [1, 2] });
  expect(judged(createTensor("float32", [2], view), "content")).toMatchObject({
    tensor_content: Buffer.from(new Float32Array([1, 2]).buffer),
  });
});
