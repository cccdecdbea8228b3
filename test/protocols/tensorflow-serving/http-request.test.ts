import { describe, expect, test } from "vitest";
import { hintMembers } from "../../../src/error-info.ts";
import type { ServingError } from "../../../src/errors.ts";
import { DecodeBudget } from "../../../src/platform/limits/memory/decode-budget.ts";
import { findSignature, parsePredictBody, readInputs } from "../../../src/protocols/tensorflow-serving/http-request.ts";
import type { DType } from "../../../src/tensor/dtype.ts";
import type { TensorSpec } from "../../../src/tensor/signature/signature.ts";
import { createTensor } from "../../../src/tensor/tensor.ts";
import { comparable } from "../../grpc/plain-tensor.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";

const X: TensorSpec = { name: "x", dtype: "float32" };

function read(text: string, specs?: readonly TensorSpec[]) {
  const { format, inputs } = readInputs(parsePredictBody(Buffer.from(text), ampleBudget()), specs && { inputs: specs });
  const entries = Object.entries(inputs).map(([name, tensor]) => [name, comparable(tensor)]);
  return { format, inputs: Object.fromEntries(entries) };
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

function spec(name: string, dtype: DType): TensorSpec {
  return { name, dtype };
}

test.each([
  ['{"inputs": {"x": ["a"]}}', { reason: "WRONG_DTYPE", field: "x", expected: "float32" }],
  ['{"inputs": ["a"]}', { reason: "WRONG_DTYPE", field: "x", expected: "float32" }],
  ['{"instances": ["a"]}', { reason: "WRONG_DTYPE", field: "x", expected: "float32" }],
  ['{"instances": [{"x": 1}, {"x": "a"}]}', { reason: "WRONG_DTYPE", field: "x", expected: "float32" }],
  ['{"inputs": [[1, 2], [3]]}', { reason: "WRONG_SHAPE", field: "x", expected: "[2,2]" }],
])("the error about %s names its input to programs, though the original's text does not", (text, expected) => {
  try {
    read(text, [X]);
  } catch (reason) {
    expect(hintMembers((reason as ServingError).details)).toEqual(expected);
    return;
  }
  expect.unreachable();
});

describe("parsePredictBody", () => {
  test("reads root and signature, and ignores text after the object", () => {
    const { root, signature } = parsePredictBody(
      Buffer.from('{"signature_name": "s", "instances": [1]} rest'),
      ampleBudget(),
    );
    expect(signature).toBe("s");
    expect(Object.keys(root)).toEqual(["signature_name", "instances"]);
    expect(parsePredictBody(Buffer.from("{}"), ampleBudget()).signature).toBe("");
  });

  test.each([
    ["", "JSON Parse error: The document is empty"],
    ["  ", "JSON Parse error: The document is empty. at offset: 2"],
    ["{]", "JSON Parse error: Missing a name for object member. at offset: 1"],
    ["[1, 2]", "JSON Value: [\n    1,\n    2\n] Is not object"],
    ["5", "JSON Value: 5 Is not object"],
    [
      '{"signature_name": 5}',
      `JSON Value: {\n    "signature_name": 5\n} not formatted correctly. 'signature_name' key must be a string value.`,
    ],
  ])("refuses %j", (text, message) => {
    expect(errorOf(text)).toBe(message);
  });

  test("says so when half a million lists lie inside one another instead of a signature", () => {
    const tower = "[".repeat(500_000) + "]".repeat(500_000);
    expect(errorOf(`{"signature_name": ${tower}}`)).toMatch(
      /^JSON Value: [\s\S]{0,300} 'signature_name' key must be a string value\.$/,
    );
    expect(errorOf(`{"instances": ${tower}}`, [X, spec("y", "float32")])).toMatch(/^instances is a plain list/);
    expect(errorOf(`{"inputs": ${tower}}`, [X])).toMatch(/nested more than 254 levels deep/);
    expect(errorOf(`{"inputs": {"a": ${tower}}}`)).toMatch(/nested more than 254 levels deep/);
    expect(errorOf(`{"instances": {"a": ${tower}}}`)).toMatch(/Expecting 'instances' to be an list\/array$/);
  });
});

describe("findSignature", () => {
  const signatures = { other: { inputs: [X] }, serving_default: {} };
  const servable = { model: "m", version: 1n, drivers: [], signatures };

  test("knows the default one and those by name", () => {
    const other = { name: "other", spec: signatures.other };
    expect(findSignature("", servable)).toEqual({ name: "serving_default", spec: signatures.serving_default });
    expect(findSignature("other", servable)).toEqual(other);
    expect(findSignature("", { ...servable, signatures: { other: signatures.other } })).toEqual(other);
  });

  test("refuses an unknown one, also a name that every object has", () => {
    expect(() => findSignature("nope", servable)).toThrow('Serving signature name: "nope" not found in signature def');
    expect(() => findSignature("toString", servable)).toThrow("not found in signature def");
  });

  test("cannot know those of a service that does not tell", () => {
    expect(findSignature("any", { ...servable, signatures: {} })).toEqual({ name: "any", spec: undefined });
  });
});

describe("readInputs", () => {
  test.each([
    ["column", (fields: string) => `{"inputs": {${fields}}}`],
    ["row", (fields: string) => `{"instances": [{${fields}}]}`],
  ])("takes 2048 inputs in a %s and no more, where no signature says which", (_, body) => {
    const fields = (count: number) => Array.from({ length: count }, (_, index) => `"x${index}": 1`).join();
    expect(Object.keys(read(body(fields(2048))).inputs)).toHaveLength(2048);
    expect(errorOf(body(fields(2049)))).toMatch(/^The request has more than 2048 inputs/);
  });

  test.each([
    [
      '{"inputs": [1], "instances": [1]}',
      /^JSON Value: \{[\s\S]*\} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist $/,
    ],
    ['{"input": [1]}', /^Missing 'inputs' or 'instances' key$/],
    ['{"instances": 5}', /^JSON Value: \{[\s\S]*\} Expecting 'instances' to be an list\/array$/],
    ['{"instances": {"x": 1}}', /^JSON Value: \{[\s\S]*\} Expecting 'instances' to be an list\/array$/],
    ['{"instances": []}', /^JSON Value: \{[\s\S]*\} No values in 'instances' array$/],
  ])("refuses %s", (text, message) => {
    expect(errorOf(text, [X])).toMatch(message);
  });

  test("refuses a signature without inputs", () => {
    expect(errorOf('{"inputs": 1}', [])).toBe("Failed to get input map for signature: DEFAULT");
    expect(errorOf('{"inputs": 1, "signature_name": "s"}', [])).toBe("Failed to get input map for signature: s");
  });

  test("reads the value of the only input, a scalar too", () => {
    const column = (shape: number[], data: number[]) => ({
      format: "column",
      inputs: { x: { dtype: "float32", shape, data } },
    });
    expect(read('{"inputs": [[1, 2.5]]}', [X])).toEqual(column([1, 2], [1, 2.5]));
    expect(read('{"inputs": 7}', [X])).toEqual(column([], [7]));
    expect(read('{"inputs": {"x": [7]}}', [X])).toEqual(column([1], [7]));
  });

  const A = [1.5, 2.5];
  const B = [Buffer.from("x"), Buffer.from("y")];
  test.each([
    ["objects as inputs", '{"inputs": [{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "y"}]}', [2]],
    ["columns of one row each", '{"inputs": [{"a": [1.5], "b": ["x"]}, {"a": [2.5], "b": ["y"]}]}', [2, 1]],
    ["a list of rows", '{"instances": [[{"a": 1.5, "b": "x"}], [{"a": 2.5, "b": "y"}]]}', [2]],
    ["columns by the rows' keys", '{"inputs": [{"a": {"0": 1.5, "1": 2.5}, "b": {"0": "x", "1": "y"}}]}', [2]],
  ])("reads a data frame of KServe's clients, %s, where no inputs are declared", (_, text, shape) => {
    const inputs = { a: { dtype: "float32", shape, data: A }, b: { dtype: "bytes", shape, data: B } };
    expect(read(text)).toEqual({ format: "row", inputs });
    expect(errorOf(text, [X, spec("y", "float32")])).not.toBe("no error");
  });

  test("fills a data frame's rows with NaN where they lack a column, within the limit of a message", () => {
    const { a, b } = read('{"inputs": [[{"a": 1}, {"b": 2}]]}').inputs;
    expect([a?.data, b?.data]).toEqual([
      [1, Number.NaN],
      [Number.NaN, 2],
    ]);
    expect(errorOf('{"inputs": [[{"a": "x"}, {"b": 2}]]}')).toMatch(/not of expected type: string/);
    const rows = Array.from({ length: 3000 }, (_, index) => `{"x${index}": 1}`).join();
    const budget = new DecodeBudget(64_000_000);
    expect(() => readInputs(parsePredictBody(Buffer.from(`{"inputs": [[${rows}]]}`), budget))).toThrow(
      /^the data frame with all columns in each row takes 576000000 bytes in memory/,
    );
  });

  test("refuses what is a data frame only in part", () => {
    expect(errorOf('{"inputs": [{"a": 1}, 5]}')).toBe("Expecting object but got list at item 1 of input list");
    expect(errorOf('{"inputs": [{"a": {}}]}')).not.toBe("no error");
    expect(errorOf('{"instances": [[]]}')).toBe("no error");
  });

  test("takes an encoded string for the value of the only input", () => {
    expect(read('{"inputs": {"b64": "aGVsbG8="}}', [spec("s", "bytes")]).inputs).toEqual({
      s: { dtype: "bytes", shape: [], data: [Buffer.from("hello")] },
    });
  });

  test("reads named values, and ignores names that the signature has not", () => {
    const text = '{"inputs": {"i": [[1], [2]], "s": ["é", {"b64": "/w=="}], "junk": {"deep": [1, "a"]}}}';
    expect(read(text, [spec("i", "int32"), spec("s", "bytes")]).inputs).toEqual({
      i: { dtype: "int32", shape: [2, 1], data: [1, 2] },
      s: { dtype: "bytes", shape: [2], data: [Buffer.from("é"), Buffer.of(255)] },
    });
  });

  test("leaves an input out that has a default", () => {
    const withDefault = { ...X, default: createTensor("float32", [], Float32Array.of(1)) };
    expect(read('{"inputs": {"y": 1}}', [withDefault, spec("y", "int32")]).inputs).toEqual({
      y: { dtype: "int32", shape: [], data: [1] },
    });
  });

  test.each([
    [
      '{"inputs": [1]}',
      "inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map",
    ],
    [
      '{"inputs": {"b64": "AA=="}}',
      "inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map",
    ],
    ['{"inputs": {"x": 1}}', "Missing named input: y in 'inputs' object."],
    ['{"inputs": {"x": [[1], [2, 3]], "y": 1}}', "Encountered list at unexpected size: 2 at level: 1 expected size: 1"],
    ['{"inputs": {"x": [1, [2]], "y": 1}}', "Encountered list at unexpected level: 1 expected < 1"],
    [
      '{"inputs": {"x": [[1], 2], "y": 1}}',
      "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
    ],
    [
      '{"inputs": {"x": [[1], "a"], "y": 1}}',
      'JSON Value: "a" found at incorrect level: 2 in the JSON DOM. Expected at level: 2',
    ],
  ])("refuses %s for a signature of two inputs", (text, message) => {
    expect(errorOf(text, [X, spec("y", "int32")])).toBe(message);
  });

  test.each<[DType, string, string]>([
    ["float32", '"a"', 'JSON Value: "a" Type: String is not of expected type: float'],
    ["float64", "null", "JSON Value: null Type: Null is not of expected type: double"],
    ["int32", "1.0", "JSON Value: 1.0 Type: Number is not of expected type: int32"],
    ["int32", "2147483648", "JSON Value: 2147483648 Type: Number is not of expected type: int32"],
    ["int16", "NaN", "JSON Value: NaN Type: Number is not of expected type: int16"],
    ["int8", "300", "JSON Value: 300 Type: Number is not of expected type: int8"],
    ["uint8", "-1", "JSON Value: -1 Type: Number is not of expected type: uint8"],
    ["int64", "9223372036854775808", "JSON Value: 9223372036854775808 Type: Number is not of expected type: int64"],
    ["uint32", "true", "JSON Value: true Type: True is not of expected type: uint32"],
    ["uint64", "false", "JSON Value: false Type: False is not of expected type: uint64"],
    ["uint16", "70000", "JSON Value: 70000 Type: Number is not of expected type: uint16"],
    ["bool", "1", "JSON Value: 1 Type: Number is not of expected type: bool"],
    ["bool", '{"a": 1}', 'JSON Value: {\n    "a": 1\n} Type: Object is not of expected type: bool'],
    ["float16", '"a"', 'JSON Value: "a" Type: String is not of expected type: half'],
    ["bytes", "1", "JSON Value: 1 Type: Number is not of expected type: string"],
    ["bytes", '{"b64": 1}', 'JSON Value: {\n    "b64": 1\n} not formatted correctly for base64 data'],
    [
      "bytes",
      '{"b64": "AA==", "x": 1}',
      'JSON Value: {\n    "b64": "AA==",\n    "x": 1\n} not formatted correctly for base64 data',
    ],
    ["bytes", '{"b64": "_-8="}', "Unable to base64 decode"],
  ])("as %s refuses the element %s", (dtype, element, message) => {
    expect(errorOf(`{"inputs": {"x": [${element}]}}`, [spec("x", dtype)])).toBe(message);
  });

  test("has no JSON for complex numbers", () => {
    expect(() => read('{"inputs": [1]}', [spec("x", "complex64")])).toThrow(
      expect.objectContaining({ code: "unimplemented", message: "Conversion of JSON Value: 1 to type: complex64" }),
    );
  });

  test("without a signature takes names from the JSON, and dtypes from its literals", () => {
    const text = '{"inputs": {"i": [1, 2], "f": [1, 2.5], "b": {"b64": "/w=="}, "t": true, "__proto__": [3000000000]}}';
    const { inputs } = readInputs(parsePredictBody(Buffer.from(text), ampleBudget()));
    expect(Object.entries(inputs).map(([name, { dtype, shape }]) => [name, dtype, shape])).toEqual([
      ["i", "int32", [2]],
      ["f", "float32", [2]],
      ["b", "bytes", []],
      ["t", "bool", []],
      ["__proto__", "int64", [1]],
    ]);
  });

  test("without a signature calls a plain value inputs", () => {
    expect(read('{"inputs": [1, 2]}').inputs).toEqual({ inputs: { dtype: "int32", shape: [2], data: [1, 2] } });
    expect(read('{"inputs": {}}').inputs).toEqual({});
  });
});
