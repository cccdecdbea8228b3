import { describe, expect, test } from "vitest";
import { parseKibernetikaJson } from "../../../src/protocols/kibernetika/http-codec.ts";
import { comparable } from "../../grpc/plain-tensor.ts";

function parse(text: string) {
  return parseKibernetikaJson(Buffer.from(text), 256 * 1024 * 1024);
}

function input(dtype: string, data: string) {
  return comparable(parse(`{"inputs": {"x": {"dtype": ${dtype}, "data": ${data}}}}`).inputs.x as never);
}

const BODIES = '{"inputs": {"NAME": {"dtype", "data"}}}, rows [{"NAME": …}] or columns {"NAME": […]}';

function errorOf(text: string): string {
  try {
    parse(text);
  } catch (reason) {
    expect(reason).toMatchObject({ name: "ServingError", code: "invalid_argument" });
    return (reason as Error).message;
  }
  return "no error";
}

describe("parseKibernetikaJson", () => {
  test("takes 2048 inputs and no more", () => {
    const body = (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `"x${index}":{"dtype":1,"data":1}`);
      return `{"inputs":{${names.join()}}}`;
    };
    expect(Object.keys(parse(body(2048)).inputs)).toHaveLength(2048);
    expect(() => parse(body(2049))).toThrow("The request has more than 2048 inputs");
  });

  test.each([
    [1, "float32", "[1, 2.5, NaN, null, 1e300]", [1, 2.5, Number.NaN, Number.NaN, Number.POSITIVE_INFINITY]],
    [2, "float64", "[1, 2.5, null]", [1, 2.5, Number.NaN]],
    [3, "int32", "[1, -2, 3.0, 1e3]", [1, -2, 3, 1000]],
    [4, "uint8", "[0, 255]", [0, 255]],
    [5, "int16", "[-32768]", [-32768]],
    [6, "int8", "[-128]", [-128]],
    [9, "int64", "[9007199254740993, -9223372036854775808]", [9007199254740993n, -9223372036854775808n]],
    [10, "bool", "[true, false]", [1, 0]],
    [14, "bfloat16", "[1]", [0x3f80]],
    [17, "uint16", "[65535]", [65535]],
    [19, "float16", "[1]", [0x3c00]],
    [22, "uint32", "[4294967295]", [4294967295]],
    [23, "uint64", "[18446744073709551615]", [18446744073709551615n]],
    [7, "bytes", '["é"]', [Buffer.from("é")]],
  ])("knows dtype %d as %s", (number, dtype, data, values) => {
    expect(input(String(number), data)).toEqual({ dtype, shape: [values.length], data: values });
  });

  test.each([
    ["float32", "float32"],
    ["float", "float32"],
    ["DT_FLOAT", "float32"],
    ["double", "float64"],
    ["DT_DOUBLE", "float64"],
    ["int", "int64"],
    ["Int8", "int8"],
    ["DT_INT32", "int32"],
    ["half", "float16"],
    ["DT_BFLOAT16", "bfloat16"],
  ])("knows the name %s as %s", (name, dtype) => {
    expect(input(`"${name}"`, "1").dtype).toBe(dtype);
  });

  test("derives the shape from the lists, none for a scalar", () => {
    expect(input("1", "[[1, 2, 3], [4, 5, 6]]").shape).toEqual([2, 3]);
    expect(input("1", "5").shape).toEqual([]);
    expect(input("7", '"text"').shape).toEqual([]);
  });

  test.each([
    ["aGVsbG8=", "hello"],
    ["aGVs\\nbG8=", "hello"],
    ["test", "\xb5\xeb\x2d"],
    ["", ""],
    ["hello", "hello"],
    ["aGVsbG8", "aGVsbG8"],
    ["aGVs bG8=", "aGVs bG8="],
    ["_-8=", "_-8="],
  ])("takes the string %j for %j", (text, bytes) => {
    expect(input("7", `"${text}"`).data).toEqual([Buffer.from(bytes, "latin1")]);
  });

  test("takes an object with b64 for bytes whatever the text looks like", () => {
    expect(input("7", '[{"b64": "dGVzdA=="}]').data).toEqual([Buffer.from("test")]);
    expect(errorOf('{"inputs": {"x": {"dtype": 7, "data": {"b64": "?"}}}}')).toBe(
      'Input "x" has the element {\n    "b64": "?"\n}; expected {"b64": BASE64} where an element is an object.',
    );
  });

  test("returns filter and media type", () => {
    expect(parse('{"inputs": {}, "out_filter": ["a", "b"], "out_mime_type": "image/png"}')).toMatchObject({
      outFilter: ["a", "b"],
      outMimeType: "image/png",
    });
    expect(parse('{"inputs": {}, "out_filter": null}')).toMatchObject({ outFilter: [], outMimeType: "" });
  });

  test.each([
    ["", "JSON Parse error: The document is empty. at offset: 0"],
    ["[]", 'The body is []; expected an object with "inputs".'],
    ["{}", `"inputs" is missing or is not an object; expected ${BODIES}.`],
    ['{"inputs": [1]}', `"inputs" is missing or is not an object; expected ${BODIES}.`],
    [
      '{"inputs": {"x": [1]}}',
      'Input "x" is [\n    1\n]; expected {"dtype", "data"}, or plain values without "inputs" around them: {"NAME": […]}.',
    ],
    ['{"inputs": {"x": {"dtype": 1}}}', 'Input "x" has no "data".'],
    ['{"inputs": {}, "out_filter": "a"}', '"out_filter" is "a"; expected a list of output names.'],
    ['{"inputs": {}, "out_filter": [1]}', '"out_filter" is [\n    1\n]; expected a list of output names.'],
    ['{"inputs": {}, "out_mime_type": 1}', '"out_mime_type" is 1; expected a text such as "image/png".'],
  ])("refuses %j", (text, message) => {
    expect(errorOf(text)).toBe(message);
  });

  test.each(["8", "18", "0", "-1", "20", "1.5", '"complex64"', '"flaot"', "null", "[1]", "{}"])(
    "refuses dtype %s",
    (dtype) => {
      expect(errorOf(`{"inputs": {"x": {"dtype": ${dtype}, "data": 1}}}`)).toMatch(
        /^Input "x" has dtype .*; expected a number of TensorFlow's DataType/s,
      );
    },
  );

  test("refuses an input without dtype", () => {
    expect(errorOf('{"inputs": {"x": {"data": 1}}}')).toMatch(/^Input "x" has dtype missing;/);
  });

  test.each([
    ["1", "[[1, 2], [3]]", "data[1] has 1 elements, but its first neighbour has 2; a tensor cannot be ragged."],
    ["1", "[[1, 2], 3]", "data[1] is one value, but its first neighbour is a list of 2; a tensor cannot be ragged."],
    [
      "1",
      "[[1, 2], [3, [4]]]",
      "data[1][1] is a list, but its first neighbour is one value; a tensor cannot be ragged.",
    ],
    ["3", "[[1, 2], [3, 4.5]]", "data[1][1] is 4.5; expected int32."],
    ["6", "[1, 300]", "data[1] is 300; expected int8."],
    ["3", "[NaN]", "data[0] is NaN; expected int32."],
    ["1", '["a"]', 'data[0] is "a"; expected float32.'],
    ["10", "[1]", "data[0] is 1; expected bool."],
    ["7", "5", "data is 5; expected a string."],
    ["3", "[null]", "data[0] is null; expected int32."],
    ["1", `${"[".repeat(300)}${"]".repeat(300)}`, "data is nested more than 254 levels deep."],
  ])("with dtype %s refuses the data %.30s", (dtype, data, message) => {
    expect(errorOf(`{"inputs": {"x": {"dtype": ${dtype}, "data": ${data}}}}`)).toBe(`Input "x": ${message}`);
  });
});
