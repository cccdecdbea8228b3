import { describe, expect, test } from "vitest";
import { readInstances } from "../../../src/protocols/tensorflow-serving/http-rows.ts";
import { parseJson } from "../../../src/tensor/codecs/json/json-reader.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import type { TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { comparable } from "../../grpc/plain-tensor.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";

function spec(name: string, dtype: DType): TensorSpec {
  return { name, dtype };
}

function read(text: string, specs?: readonly TensorSpec[]) {
  const tensors = readInstances(parseJson(Buffer.from(text), ampleBudget()), { specs }, ampleBudget());
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, comparable(tensor)]));
}

function errorOf(text: string, specs?: readonly TensorSpec[]): string {
  try {
    read(text, specs);
  } catch (reason) {
    expect(reason).toMatchObject({ name: "ServingError", code: "invalid_argument" });
    return (reason as Error).message;
  }
  return "no error";
}

const FLOAT = [spec("x", "float32")];
const INT = [spec("x", "int32")];
const TEXT = [spec("x", "bytes")];
const PAIR = [spec("a", "int32"), spec("b", "bytes")];

describe("readInstances", () => {
  test("takes instances that have 254 dimensions together, and no more", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(read(`[${nested(253)}, ${nested(253)}]`, FLOAT).x?.shape).toHaveLength(254);
    expect(errorOf(`[${nested(254)}, ${nested(254)}]`, FLOAT)).toMatch(/nested more than 254 levels deep/);
  });

  test.each<[string, readonly TensorSpec[], number[], unknown[]]>([
    ["[1, 2, 3]", FLOAT, [3], [1, 2, 3]],
    ["[[1, 2], [3, 4], [5, 6]]", INT, [3, 2], [1, 2, 3, 4, 5, 6]],
    ["[NaN, Infinity]", FLOAT, [2], [Number.NaN, Number.POSITIVE_INFINITY]],
    ['["a", "b"]', TEXT, [2], [Buffer.from("a"), Buffer.from("b")]],
    ['[{"b64": "aGVsbG8="}, "world"]', TEXT, [2], [Buffer.from("hello"), Buffer.from("world")]],
    ['[[{"b64": "aGVsbG8="}], ["world"]]', TEXT, [2, 1], [Buffer.from("hello"), Buffer.from("world")]],
    ["[[], []]", INT, [2, 0], []],
    ["[[true], [false]]", [spec("x", "bool")], [2, 1], [1, 0]],
  ])("makes %s one tensor of the only input", (text, specs, shape, data) => {
    expect(read(text, specs)).toEqual({ x: { dtype: specs[0]?.dtype, shape, data } });
  });

  test("gathers what each instance has under a name", () => {
    expect(read('[{"a": [1, 2], "b": "x"}, {"b": "y", "a": [3, 4]}]', PAIR)).toEqual({
      a: { dtype: "int32", shape: [2, 2], data: [1, 2, 3, 4] },
      b: { dtype: "bytes", shape: [2], data: [Buffer.from("x"), Buffer.from("y")] },
    });
  });

  test("takes the object form for one input as well", () => {
    expect(read('[{"x": 1}, {"x": 2}]', INT)).toEqual({ x: { dtype: "int32", shape: [2], data: [1, 2] } });
    expect(read('[{"x": [[{"b64": "/w=="}]]}]', TEXT)).toEqual({
      x: { dtype: "bytes", shape: [1, 1, 1], data: [Buffer.of(255)] },
    });
  });

  test.each([
    [
      "[1, 2]",
      PAIR,
      "instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map",
    ],
    ['[{"x": 1}, [1]]', INT, "Expecting object but got list at item 1 of input list"],
    ['[{"x": 1}, 2]', INT, "Expecting object but got list at item 1 of input list"],
    ['[{"x": 1}, {"b64": "AA=="}]', INT, "Expecting object but got list at item 1 of input list"],
    ['[1, 2, {"x": 3}]', INT, "Expecting value/list but got object at item 2 of input list"],
    [
      '[{"x": 1, "junk": 2}]',
      INT,
      "Failed to process element: 0 key: junk of 'instances' list. Error: INVALID_ARGUMENT: JSON object: does not have named input: junk",
    ],
    [
      '[{"a": 1, "b": "x"}, {"b": "y"}]',
      PAIR,
      `Failed to process element: 1 of 'instances' list. JSON object: {\n    "b": "y"\n} keys must be equal to: a,b`,
    ],
    [
      "[[1, 2], [3]]",
      INT,
      "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor size: 2 but got: 1",
    ],
    [
      "[[1, 2], [[3, 4]]]",
      INT,
      "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting shape [2] but got: [1,2]",
    ],
    [
      "[1, [2]]",
      INT,
      "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting shape [] but got: [1]",
    ],
    [
      "[[1, 2], [3, 4.5]]",
      INT,
      "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: 4.5 Type: Number is not of expected type: int32",
    ],
    [
      '[1, "a"]',
      INT,
      `Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: "a" Type: String is not of expected type: int32`,
    ],
    [
      '[{"x": [1, 2]}, {"x": [[1], 2]}]',
      INT,
      "Failed to process element: 1 key: x of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
    ],
    [
      "[[1, 2], [[1], [2, 3]]]",
      INT,
      "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Encountered list at unexpected size: 2 at level: 1 expected size: 1",
    ],
    [
      "[[], [1]]",
      INT,
      "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor size: 0 but got: 1",
    ],
  ] as const)("refuses %s", (text, specs, message) => {
    expect(errorOf(text, specs)).toBe(message);
  });

  test("lets all instances leave out an input with a default, or none", () => {
    const withDefault = { ...spec("b", "int32"), default: createTensor("int32", [], Int32Array.of(7)) };
    const specs = [spec("a", "int32"), withDefault];
    expect(Object.keys(read('[{"a": 1}, {"a": 2}]', specs))).toEqual(["a"]);
    expect(Object.keys(read('[{"a": 1, "b": 2}]', specs))).toEqual(["a", "b"]);
    expect(errorOf('[{"a": 1, "b": 2}, {"a": 1}]', specs)).toMatch(/keys must be equal to: a,b$/);
    expect(errorOf('[{"a": 1}, {"a": 1, "b": 2}]', specs)).toMatch(/does not have named input: b$/);
    expect(errorOf('[{"b": 1}]', specs)).toMatch(/keys must be equal to: a,b$/);
  });

  test("keeps the code of what one instance fails with", () => {
    expect(() => read('[{"x": 1}]', [spec("x", "complex128")])).toThrow(
      expect.objectContaining({
        code: "unimplemented",
        message: expect.stringContaining("Error: UNIMPLEMENTED: Conversion"),
      }),
    );
  });

  test("without a signature takes names from the first instance, and one dtype for all values of a name", () => {
    expect(read('[{"a": 1, "b": "x"}, {"a": 2.5, "b": "y"}]')).toEqual({
      a: { dtype: "float32", shape: [2], data: [1, 2.5] },
      b: { dtype: "bytes", shape: [2], data: [Buffer.from("x"), Buffer.from("y")] },
    });
    expect(read("[[1, 2], [3, 4]]")).toEqual({ inputs: { dtype: "int32", shape: [2, 2], data: [1, 2, 3, 4] } });
    expect(errorOf('[{"a": 1}, {"a": 2, "b": 3}]')).toMatch(/does not have named input: b$/);
    expect(errorOf('[{"a": 1, "b": 3}, {"a": 2}]')).toMatch(/keys must be equal to: a,b$/);
  });

  test("takes null as a missing number where no input is declared, and refuses it elsewhere", () => {
    const numbers = { dtype: "float32", shape: [2, 2], data: [1, Number.NaN, 3, 4] };
    expect(read("[[1, null], [3, 4]]")).toEqual({ inputs: numbers });
    expect(read('[{"a": null}, {"a": 2}]')).toEqual({ a: { dtype: "float32", shape: [2], data: [Number.NaN, 2] } });
    expect(errorOf("[1, null]", FLOAT)).toMatch("JSON Value: null Type: Null is not of expected type: float");
    expect(errorOf("[1, null]", INT)).toMatch("JSON Value: null Type: Null is not of expected type: int32");
    expect(errorOf('["red", null]')).toMatch("JSON Value: null Type: Null is not of expected type: string");
  });
});
