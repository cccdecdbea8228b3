import { describe, expect, it } from "vitest";
import type { TensorProto, TensorShape } from "../../../../src/drivers/tensorflow/saved-model/graph-def.ts";
import { fromTensorProto } from "../../../../src/drivers/tensorflow/saved-model/tensor-proto.ts";
import type { Tensor } from "../../../../src/tensor/tensor.ts";

const NOTHING: TensorProto = {
  dtype: 0,
  tensorContent: new Uint8Array(),
  floatVal: [],
  doubleVal: [],
  intVal: [],
  stringVal: [],
  scomplexVal: [],
  int64Val: [],
  boolVal: [],
  dcomplexVal: [],
  halfVal: [],
  uint32Val: [],
  uint64Val: [],
};

function shape(...sizes: number[]): TensorShape {
  return { dim: sizes.map((size) => ({ size: BigInt(size) })), unknownRank: false };
}

function read(fields: Partial<TensorProto>) {
  const proto = { ...NOTHING, ...fields } as TensorProto;
  return fromTensorProto(proto, "the constant");
}

describe("fromTensorProto", () => {
  it.each<[kind: string, fields: Partial<TensorProto>, data: Tensor["data"]]>([
    [
      "a short list, which repeats its last value",
      { dtype: 1, tensorShape: shape(3), floatVal: [1, 2] },
      Float32Array.of(1, 2, 2),
    ],
    ["no values, which mean zeros", { dtype: 4, tensorShape: shape(2) }, Uint8Array.of(0, 0)],
    ["int64", { dtype: 9, tensorShape: shape(2), int64Val: [-5n] }, BigInt64Array.of(-5n, -5n)],
    ["bool", { dtype: 10, tensorShape: shape(2), boolVal: [true] }, Uint8Array.of(1, 1)],
    ["complex numbers", { dtype: 8, tensorShape: shape(2), scomplexVal: [1, 2] }, Float32Array.of(1, 2, 1, 2)],
    [
      "packed numbers",
      { dtype: 3, tensorShape: shape(2), tensorContent: Uint8Array.of(1, 0, 0, 0, 2, 0, 0, 0) },
      Int32Array.of(1, 2),
    ],
    ["a scalar of half precision", { dtype: 19, tensorShape: shape(), halfVal: [0x3c00] }, Uint16Array.of(0x3c00)],
  ])("reads %s", (_, fields, data) => {
    expect(read(fields).data).toEqual(data);
  });

  it("reads strings one by one, and packed", () => {
    const packed = Uint8Array.of(1, 2, 97, 98, 99);
    const apart = read({ dtype: 7, tensorShape: shape(2), stringVal: [Uint8Array.of(97)] });
    expect(apart.data).toEqual([Uint8Array.of(97), Uint8Array.of(97)]);
    expect(read({ dtype: 7, tensorShape: shape(2), tensorContent: packed }).data).toEqual([
      Uint8Array.of(97),
      Uint8Array.of(98, 99),
    ]);
  });

  it("refuses what does not fill its shape, and what cannot be served", () => {
    const short = { dtype: 3, tensorShape: shape(2), tensorContent: Uint8Array.of(1, 0, 0, 0) };
    expect(() => read(short)).toThrow("does not fill its shape [2]");
    expect(() => read({ dtype: 20 })).toThrow("DT_RESOURCE");
  });

  it("refuses a list of strings that would end the process", () => {
    const large = { dtype: 7, tensorShape: shape(40_000, 40_000) };
    const message = "does not fill its shape [40000,40000]";
    expect(() => read({ ...large, stringVal: [Uint8Array.of(97)] })).toThrow(message);
    expect(() => read({ ...large, tensorContent: Uint8Array.of(0, 0) })).toThrow(message);
  });
});
