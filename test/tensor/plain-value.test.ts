import { describe, expect, test } from "vitest";
import { type PlainValue, tensorOf, toTensor, toTensors } from "../../src/tensor/plain-value.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

const text = (value: string) => new TextEncoder().encode(value);

describe("a plain value becomes a tensor", () => {
  test.each<[string, PlainValue, string, number[], ArrayLike<unknown>]>([
    ["an integer", 3, "int32", [], [3]],
    ["a large integer", 2 ** 40, "int64", [], [2n ** 40n]],
    ["a fraction", 0.5, "float32", [], [0.5]],
    ["NaN", Number.NaN, "float32", [], [Number.NaN]],
    ["a bigint", 5n, "int64", [], [5n]],
    ["a bigint above int64", 2n ** 63n, "uint64", [], [2n ** 63n]],
    ["a boolean", true, "bool", [], [1]],
    ["a string", "né", "bytes", [], [text("né")]],
    ["a Buffer", Buffer.from([1, 2]), "bytes", [], [Buffer.from([1, 2])]],
    ["a plain object", { a: 1 }, "bytes", [], [text('{"a":1}')]],
    ["an object with a bigint", { a: 2n ** 63n }, "bytes", [], [text('{"a":9223372036854775808}')]],
    ["objects in a list", [{ a: 1 }, {}], "bytes", [2], [text('{"a":1}'), text("{}")]],
    ["a typed array", Float64Array.of(1, 2), "float64", [2], [1, 2]],
    ["a clamped array", Uint8ClampedArray.of(1, 2), "uint8", [2], [1, 2]],
    [
      "nested integers",
      [
        [1, 2],
        [3, 4],
      ],
      "int32",
      [2, 2],
      [1, 2, 3, 4],
    ],
    ["one fraction among integers", [1, 2.5], "float32", [2], [1, 2.5]],
    ["integers and a bigint", [1, 2n], "int64", [2], [1n, 2n]],
    ["typed rows", [Float32Array.of(0.5), Float32Array.of(1)], "float32", [2, 1], [0.5, 1]],
    ["strings", ["a", "b"], "bytes", [2], [text("a"), text("b")]],
    ["an empty list", [], "float32", [0], []],
    ["empty rows", [[], []], "float32", [2, 0], []],
  ])("from %s", (_, value, dtype, shape, data) => {
    const tensor = toTensor(value, "x");
    expect({ dtype: tensor.dtype, shape: tensor.shape }).toEqual({ dtype, shape });
    expect([...tensor.data]).toEqual(Array.from(data));
  });

  test.each([
    ["float32", [1, 2], [1, 2]],
    ["float16", [1, -2], [0x3c00, 0xc000]],
    ["uint8", [0, 255], [0, 255]],
    ["int64", [1, 2 ** 53 - 1], [1n, 2n ** 53n - 1n]],
    ["float64", 0.1, [0.1]],
    ["float32", 2 ** 24, [2 ** 24]],
    ["float32", [Number.NaN, Infinity], [Number.NaN, Infinity]],
  ] as const)("taking the model's %s where it fits exactly", (dtype, value, data) => {
    const tensor = toTensor(value as PlainValue, "x", dtype);
    expect(tensor.dtype).toBe(dtype);
    expect([...tensor.data]).toEqual(data);
  });

  test.each([
    ["float16", 0.1, [0x2e66]],
    ["bfloat16", 0.1, [0x3dcd]],
    ["float32", [0.5, 16777217], [0.5, 16777216]],
    ["float32", 1e20, [Math.fround(1e20)]],
  ] as const)("taking the model's %s by rounding where it is %o", (dtype, value, data) => {
    const tensor = toTensor(value as PlainValue, "x", dtype);
    expect(tensor.dtype).toBe(dtype);
    expect([...tensor.data]).toEqual(data);
  });

  test.each([
    ["float32", 16777217, "int32"],
    ["float16", 70000, "int32"],
    ["float16", 70000.5, "float32"],
    ["bfloat16", 257, "int32"],
    ["uint8", 256, "int32"],
    ["int32", 0.5, "float32"],
    ["bool", 1, "int32"],
    ["float32", "text", "bytes"],
  ] as const)("keeping its own dtype where %s cannot hold it", (wanted, value, dtype) => {
    expect(toTensor(value, "x", wanted).dtype).toBe(dtype);
  });
});

describe("what is no tensor is refused by its place", () => {
  test.each<[string, unknown, string]>([
    ["a ragged list", [[1, 2], [3]], "x[1] has 1 elements, but its first neighbour has 2; a tensor cannot be ragged."],
    [
      "a value among lists",
      [[1], 2],
      "x[1] has one value, but its first neighbour has a list of 1; a tensor cannot be ragged.",
    ],
    [
      "a list among values",
      [1, [2]],
      "x[1] has a list of 1, but its first neighbour has one value; a tensor cannot be ragged.",
    ],
    ["mixed types", [1, "a"], "x mixes number and string; a tensor has one type."],
    ["bigint and fraction", [1n, 0.5], "x mixes bigint with fractions; a tensor has one type."],
    ["an integer beyond 64 bits", [[1n], [2n ** 70n]], "x[1][0] is 1180591620717411303424, but the integers in x fit"],
    ["a fraction beyond float32", [1, 1e300], "x[1] is 1e+300, which float32 would make infinite"],
  ])("%s", (_, value, message) => {
    expect(() => toTensor(value as PlainValue, "x")).toThrow(message);
  });

  test.each([
    ["undefined", undefined, "x is undefined"],
    ["what a promise does not have", undefined, "and was awaited what it comes from?"],
    ["null", [1, null], "x[1] is null"],
    ["a Map", new Map(), "x is a Map"],
    ["a function", () => 1, "x is a function"],
    ["a Date", new Date(0), "x is a Date"],
    ["a promise", Promise.resolve(), "Was an await forgotten?"],
  ])("%s", (_, value, message) => {
    expect(() => toTensor(value as PlainValue, "x")).toThrow(message);
  });

  test.each([
    ["data of another dtype", { dtype: "float32", shape: [1], data: Float64Array.of(1) }, "expected a Float32Array."],
    ["text as bytes", { dtype: "bytes", shape: [1], data: ["a"] }, "expected an array with one Uint8Array"],
    ["a plain array as data", { dtype: "float32", shape: [1], data: [1] }, "expected a Float32Array."],
    ["a rank beyond 254", { dtype: "float32", shape: Array(300).fill(1), data: Float32Array.of(1) }, "x has rank 300;"],
    [
      "a dimension of 2^31",
      { dtype: "float32", shape: [2 ** 31, 0], data: new Float32Array(0) },
      "x has a dimension of 2147483648; expected less than 2^31.",
    ],
    ["such a tensor in a list", [{ dtype: "float32", shape: [1], data: [1] }], "x[0] is a Object; expected a tensor"],
  ])("a tensor with %s", (_, value, message) => {
    expect(() => toTensor(value as PlainValue, "x")).toThrow(message);
  });

  test("an object that contains itself", () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    expect(() => toTensor(loop, "x")).toThrow("x cannot be written as JSON text: ");
  });

  test("a list that contains itself", () => {
    const list: PlainValue[] = [];
    list.push(list);
    expect(() => toTensor(list, "x")).toThrow("x is nested more than 64 levels deep.");
  });

  test("a tensor whose data does not fill its shape", () => {
    const tensor = { dtype: "float32", shape: [3], data: Float32Array.of(1) } as const;
    expect(() => toTensor(tensor, "x")).toThrow("A float32 tensor of shape [3] has 3 values, but 1 were given.");
  });
});

test("names such as __proto__ are data", () => {
  const tensors = toTensors(JSON.parse('{"__proto__": 1, "constructor": 2, "": 3}'));
  expect(Object.keys(tensors)).toEqual(["__proto__", "constructor", ""]);
  expect(Object.entries(tensors)[0]?.[1]).toEqual(createTensor("int32", [], Int32Array.of(1)));
});

const values = { scores: createTensor("float32", [2], Float32Array.of(1, 2)) };

test("tensorOf gives the tensor, its data typed", () => {
  const data: Float32Array = tensorOf(values, "scores", "float32").data;
  expect(data).toBe(values.scores.data);
});

test("tensorOf makes tensors of plain values, as PredictJSON has them", () => {
  expect(tensorOf({ x: [[1, 2]] }, "x", "float32")).toEqual(createTensor("float32", [1, 2], Float32Array.of(1, 2)));
  expect(tensorOf({ text: "a" }, "text", "bytes").data).toEqual([new TextEncoder().encode("a")]);
});

test.each([
  [values, "score", '"score" is missing. Did you mean "scores"? There are scores.'],
  [{}, "x", '"x" is missing. There are none.'],
  [values, "toString", '"toString" is missing.'],
])("tensorOf refuses %o without %s", (given, name, message) => {
  expect(() => tensorOf(given, name, "float32")).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
  );
});

test("tensorOf refuses another dtype, under the code that it is given", () => {
  const wrong = () => tensorOf(values, "scores", "int64", { code: "internal" });
  expect(wrong).toThrow(
    expect.objectContaining({ code: "internal", message: '"scores" is float32 [2]; expected int64.' }),
  );
  expect(() => tensorOf({ x: 1.5 }, "x", "int32")).toThrow('"x" is float32 []; expected int32.');
});
