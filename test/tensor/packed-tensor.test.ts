import { describe, expect, test } from "vitest";
import { ByteRanges, BytesBuilder } from "../../src/tensor/byte-ranges.ts";
import { packedOf } from "../../src/tensor/packed-bytes.ts";
import { createPackedTensor, reshape } from "../../src/tensor/packed-tensor.ts";
import { byteSize, createTensor, isTensor, type Tensor, transfer } from "../../src/tensor/tensor.ts";

function built(count: number): Tensor<"bytes"> {
  const builder = new BytesBuilder();
  for (let index = 0; index < count; index++) builder.append(index % 2 === 0 ? `é${index}` : Buffer.from([index]));
  return builder.finish([count]);
}

function expected(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) =>
    Uint8Array.from(index % 2 === 0 ? Buffer.from(`é${index}`) : [index]),
  );
}

describe("a packed tensor", () => {
  test.each([0, 1, 16, 17, 1000])("of %i elements has them under data", (count) => {
    const tensor = built(count);
    expect(byteSize(tensor)).toBe(expected(count).reduce((sum, { length }) => sum + length, 0));
    expect(isTensor(tensor)).toBe(true);
    expect(tensor.data.map((element) => Uint8Array.from(element))).toEqual(
      expected(count).map((e) => Uint8Array.from(e)),
    );
  });

  test("stays packed while it is weighed, transferred and reshaped, until its data is read, once", () => {
    const tensor = reshape(transfer(built(100)), [10, 10]) as Tensor<"bytes">;
    expect(byteSize(tensor)).toBeGreaterThan(100);
    expect(packedOf(tensor)).toBeDefined();
    expect(tensor.data).toBe(tensor.data);
    expect(packedOf(tensor)).toBeUndefined();
  });

  test("may be spread and cloned", () => {
    const expectedData = expected(20);
    expect({ ...built(20) }.data.map((e) => Uint8Array.from(e))).toEqual(expectedData);
    expect(structuredClone(built(20)).data.map((e) => Uint8Array.from(e))).toEqual(expectedData);
  });

  test("has as many elements as its shape", () => {
    const packed = { content: new Uint8Array(3), ranges: Uint32Array.of(0, 1, 1, 3), byteLength: 3 };
    expect(() => createPackedTensor([3], packed)).toThrow(
      "A bytes tensor of shape [3] has 3 values, but 2 were given.",
    );
    expect(() => reshape(createTensor("int8", [2], Int8Array.of(1, 2)), [3])).toThrow(/has 3 values, but 2/);
  });
});

describe("ranges", () => {
  test("are cut, or repeated, to fit a count", () => {
    const content = Buffer.from("abcd");
    const texts = (count: number) => {
      const ranges = new ByteRanges();
      ranges.push(0, 1);
      ranges.push(1, 4);
      ranges.fit(count);
      const tensor = ranges.toTensor([count], content);
      return [byteSize(tensor), tensor.data.map((element) => Buffer.from(element).toString()).join()];
    };
    expect([1, 2, 4].map(texts)).toEqual([
      [1, "a"],
      [4, "a,bcd"],
      [10, "a,bcd,bcd,bcd"],
    ]);
    const none = new ByteRanges();
    none.fit(20);
    expect(byteSize(none.toTensor([20], content))).toBe(0);
  });
});
