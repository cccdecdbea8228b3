import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { parsePredictBody, readInputs } from "../../../src/protocols/tensorflow-serving/http-request.ts";
import { writePredictions } from "../../../src/protocols/tensorflow-serving/http-response.ts";
import type { DType, NumericDType } from "../../../src/tensor/dtype.ts";
import { numericLayout } from "../../../src/tensor/dtype.ts";
import { fromBfloat16, fromFloat16 } from "../../../src/tensor/float16.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";
import { Random } from "../../grpc/random.ts";
import { missingPython, PYTHON } from "../../helpers/missing-python.ts";
import { ampleBudget } from "../../proxy/ample-budget.ts";

/** A tensor of the only input as `[shape] values`; strings in latin1. */
function parse(dtype: DType, json: string, key = "inputs"): string {
  const body = parsePredictBody(Buffer.from(`{"${key}": ${json}}`), ampleBudget());
  const { inputs } = readInputs(body, { inputs: [{ name: "x", dtype }] });
  const { shape, data } = inputs.x as Tensor;
  return `[${shape}] ${Array.from(data as ArrayLike<unknown>, (value) => show(dtype, value)).join(" ")}`;
}

function show(dtype: DType, value: unknown): string {
  if (dtype === "float16") return show("float64", fromFloat16(value as number));
  if (dtype === "bfloat16") return show("float64", fromBfloat16(value as number));
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  return Object.is(value, -0) ? "-0" : String(value);
}

function errorOf(run: () => unknown): string {
  try {
    return `no error, but ${run()}`;
  } catch (reason) {
    return (reason as Error).message;
  }
}

/** The text of one element in the answer to a column request. */
function print(dtype: DType, values: readonly unknown[], shape: readonly number[] = [values.length]): string {
  const text = Buffer.from(writePredictions(createTensors([["y", toTensor(dtype, values, shape)]]), "column"));
  return text.toString().slice('{\n    "outputs": '.length, -"\n}".length);
}

function toTensor(dtype: DType, values: readonly unknown[], shape: readonly number[]): Tensor {
  if (dtype === "bytes") return createTensor("bytes", shape, values as Uint8Array[]);
  const data = new (numericLayout(dtype as NumericDType).array)(values.length);
  for (const [index, value] of values.entries()) data[index] = value as never;
  return createTensor(dtype as NumericDType, shape, data as never);
}

/** For each dtype: the JSON of one element, and its value. */
const ELEMENTS: Readonly<Record<string, readonly (readonly [json: string, value: string])[]>> = {
  float32: [
    ["0", "0"],
    ["-0", "-0"],
    ["-0.0", "-0"],
    ["1", "1"],
    ["-1", "-1"],
    ["2.0", "2"],
    ["0.5", "0.5"],
    ["1e3", "1000"],
    ["1E3", "1000"],
    ["1e+3", "1000"],
    ["25e-1", "2.5"],
    ["0.1", "0.10000000149011612"],
    ["16777217", "16777216"],
    ["3.4028235e38", "3.4028234663852886e+38"],
    ["1e39", "Infinity"],
    ["-1e39", "-Infinity"],
    ["1.7976931348623157e308", "Infinity"],
    ["2.2250738585072014e-308", "0"],
    ["-2.2250738585072014e-308", "-0"],
    ["1e-46", "0"],
    ["1.401298464324817e-45", "1.401298464324817e-45"],
    ["9007199254740993", "9007199254740992"],
    ["18446744073709551615", "18446744073709552000"],
    ["NaN", "NaN"],
    ["Infinity", "Infinity"],
    ["-Infinity", "-Infinity"],
    ["Inf", "Infinity"],
    ["-Inf", "-Infinity"],
  ],
  float64: [
    ["0.1", "0.1"],
    ["-0.0", "-0"],
    ["3", "3"],
    ["1e308", "1e+308"],
    ["5e-324", "5e-324"],
    ["2.2250738585072011e-308", "2.225073858507201e-308"],
    ["123456789012345680000", "123456789012345680000"],
    ["9007199254740993", "9007199254740992"],
    ["0.30000000000000004", "0.30000000000000004"],
    ["NaN", "NaN"],
    ["Infinity", "Infinity"],
    ["-Infinity", "-Infinity"],
  ],
  float16: [
    ["0.5", "0.5"],
    ["1", "1"],
    ["-2", "-2"],
    ["65504", "65504"],
    ["65520", "Infinity"],
    ["1e-8", "0"],
    ["6e-8", "5.960464477539063e-8"],
    ["0.1", "0.0999755859375"],
    ["NaN", "NaN"],
    ["-Infinity", "-Infinity"],
  ],
  bfloat16: [
    ["1", "1"],
    ["-0.5", "-0.5"],
    ["0.1", "0.10009765625"],
    ["3.3895314e38", "3.3895313892515355e+38"],
    ["1e39", "Infinity"],
    ["257", "256"],
    ["NaN", "NaN"],
  ],
  int8: [
    ["0", "0"],
    ["127", "127"],
    ["-128", "-128"],
  ],
  uint8: [
    ["0", "0"],
    ["255", "255"],
  ],
  int16: [
    ["32767", "32767"],
    ["-32768", "-32768"],
  ],
  uint16: [
    ["0", "0"],
    ["65535", "65535"],
  ],
  int32: [
    ["0", "0"],
    ["-0", "0"],
    ["2147483647", "2147483647"],
    ["-2147483648", "-2147483648"],
  ],
  uint32: [
    ["0", "0"],
    ["2147483648", "2147483648"],
    ["4294967295", "4294967295"],
  ],
  int64: [
    ["0", "0"],
    ["-1", "-1"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
  ],
  uint64: [
    ["0", "0"],
    ["9223372036854775808", "9223372036854775808"],
    ["18446744073709551615", "18446744073709551615"],
  ],
  bool: [
    ["true", "1"],
    ["false", "0"],
  ],
  bytes: [
    ['""', ""],
    ['"a"', "a"],
    ['"a b"', "a b"],
    ['"\\u0041"', "A"],
    ['"\\n\\t\\"\\\\\\/"', '\n\t"\\/'],
    ['"\\u0000"', "\0"],
    ['"é"', "Ã©"],
    ['"\\u00e9"', "Ã©"],
    ['"\\ud83d\\ude00"', Buffer.from("😀").toString("latin1")],
    ['{"b64": ""}', ""],
    ['{"b64": "YQ=="}', "a"],
    ['{"b64": "YWI="}', "ab"],
    ['{"b64": "YWJj"}', "abc"],
    ['{"b64": "/+8="}', "\u00ff\u00ef"],
    ['"YQ=="', "YQ=="],
  ],
};

const elements = Object.entries(ELEMENTS).flatMap(([dtype, rows]) =>
  rows.map((row) => [dtype as DType, ...row] as const),
);

describe("an element of JSON", () => {
  test.each(elements)("as %s: %s is %j, in rows, in columns and alone", (dtype, json, value) => {
    expect(parse(dtype, json)).toBe(`[] ${value}`);
    expect(parse(dtype, `[${json}, ${json}]`)).toBe(`[2] ${value} ${value}`);
    expect(parse(dtype, `[[${json}], [${json}]]`, "instances")).toBe(`[2,1] ${value} ${value}`);
  });

  test.each<[DType, string, string]>([
    ["float32", "[[1, 2], [3, 4], [5, 6]]", "[3,2] 1 2 3 4 5 6"],
    ["float32", "[1, 2.5, 1e1]", "[3] 1 2.5 10"],
    ["float32", "[[[[7]]]]", "[1,1,1,1] 7"],
    ["float32", "[]", "[0] "],
    ["float32", "[[], []]", "[2,0] "],
    ["int64", "[[1], [9007199254740993]]", "[2,1] 1 9007199254740993"],
    ["bool", "[[true, false]]", "[1,2] 1 0"],
    ["bytes", '[["a"], [{"b64": "Yg=="}]]', "[2,1] a b"],
    ["float32", "[NaN, -Infinity, 1]", "[3] NaN -Infinity 1"],
  ])("as %s: %s is %s", (dtype, json, expected) => {
    expect(parse(dtype, json)).toBe(expected);
  });

  const NOT_NUMBERS = [
    ["null", "Null"],
    ["true", "True"],
    ["false", "False"],
    ['"1"', "String"],
    ['{\n    "a": 1\n}', "Object"],
  ] as const;
  const NUMBERS: readonly (readonly [DType, string])[] = [
    ["float32", "float"],
    ["float64", "double"],
    ["float16", "half"],
    ["bfloat16", "bfloat16"],
    ["int8", "int8"],
    ["uint8", "uint8"],
    ["int16", "int16"],
    ["uint16", "uint16"],
    ["int32", "int32"],
    ["uint32", "uint32"],
    ["int64", "int64"],
    ["uint64", "uint64"],
  ];
  const mistaken = NUMBERS.flatMap(([dtype, name]) =>
    NOT_NUMBERS.map(([json, type]) => [dtype, json, type, name] as const),
  );

  test.each(mistaken)("as %s: %s is refused, since it is %s", (dtype, json, type, name) => {
    const text = `JSON Value: ${json} Type: ${type} is not of expected type: ${name}`;
    expect(errorOf(() => parse(dtype, `[${json}]`))).toBe(text);
  });

  test.each<[DType, string]>([
    ["int8", "128"],
    ["int8", "-129"],
    ["uint8", "256"],
    ["uint8", "-1"],
    ["int16", "32768"],
    ["uint16", "65536"],
    ["uint16", "-1"],
    ["int32", "2147483648"],
    ["int32", "-2147483649"],
    ["int32", "1.0"],
    ["int32", "1e2"],
    ["int32", "NaN"],
    ["uint32", "4294967296"],
    ["uint32", "-1"],
    ["int64", "9223372036854775808"],
    ["int64", "-9223372036854775809"],
    ["int64", "1.5"],
    ["uint64", "18446744073709551616"],
    ["uint64", "-1"],
    ["bool", "1"],
    ["bool", "0"],
    ["bytes", "1"],
  ])("as %s: %s is refused, and so is the request", (dtype, json) => {
    const name = dtype === "bytes" ? "string" : dtype;
    const text = `Type: Number is not of expected type: ${name}`;
    expect(errorOf(() => parse(dtype, `[${json}]`))).toContain(text);
    expect(errorOf(() => parse(dtype, `[${json}]`, "instances"))).toMatch(
      new RegExp(`^Failed to process element: 0 of 'instances' list\\. Error: INVALID_ARGUMENT: .*${text}$`),
    );
  });

  test.each<[DType, string, string]>([
    ["float32", "[[1, 2], [3]]", "Encountered list at unexpected size: 1 at level: 1 expected size: 2"],
    ["float32", "[[1], [2, 3]]", "Encountered list at unexpected size: 2 at level: 1 expected size: 1"],
    ["float32", "[1, [2]]", "Encountered list at unexpected level: 1 expected < 1"],
    ["float32", "[[1], 2]", "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2"],
    ["bytes", '[{"b64": 1}]', 'JSON Value: {\n    "b64": 1\n} not formatted correctly for base64 data'],
    ["bytes", '[{"b64": "!"}]', "Unable to base64 decode"],
    ["bytes", '[{"b64": "_-8="}]', "Unable to base64 decode"],
    ["bytes", '[{"b65": "YQ=="}]', 'JSON Value: {\n    "b65": "YQ=="\n} not formatted correctly for base64 data'],
  ])("as %s: %s is refused with the original's text", (dtype, json, text) => {
    expect(errorOf(() => parse(dtype, json))).toBe(text);
  });
});

const TEXTS: Readonly<Record<string, readonly (readonly [value: number | bigint, text: string])[]>> = {
  float32: [
    [0, "0.0"],
    [-0, "-0.0"],
    [1, "1.0"],
    [-1.5, "-1.5"],
    [0.1, "0.1"],
    [0.2, "0.2"],
    [1 / 3, "0.333333343"],
    [Math.PI, "3.14159274"],
    [100, "100.0"],
    [999999, "999999.0"],
    [1000000, "1e+06"],
    [1000001, "1000001.0"],
    [9000000, "9e+06"],
    [555557.5, "555557.5"],
    [16777216, "16777216.0"],
    [0.0001, "0.0001"],
    [0.00003, "3e-05"],
    [0.000123456, "0.000123456"],
    [1e-7, "1e-07"],
    [1e10, "1e+10"],
    [1e38, "1e+38"],
    [3.4028234663852886e38, "3.40282347e+38"],
    [1.401298464324817e-45, "1.4013e-45"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
  ],
  float64: [
    [0, "0.0"],
    [-0, "-0.0"],
    [1, "1.0"],
    [0.1, "0.1"],
    [0.30000000000000004, "0.30000000000000004"],
    [1 / 3, "0.33333333333333331"],
    [Math.PI, "3.1415926535897931"],
    [999999, "999999.0"],
    [9000000, "9e+06"],
    [0.00003, "3e-05"],
    [123456.5, "123456.5"],
    [1234567, "1234567.0"],
    [9007199254740992, "9007199254740992.0"],
    [1e17, "1e+17"],
    [1e100, "1e+100"],
    [1e-100, "1e-100"],
    [5e-324, "4.94066e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
  ],
  float16: [
    [0x3c00, "1.0"],
    [0x3555, "0.333251953"],
    [0x7bff, "65504.0"],
    [0x7c00, "Infinity"],
    [0x7e00, "NaN"],
  ],
  bfloat16: [
    [0x3f80, "1.0"],
    [0x3dcd, "0.100097656"],
    [0xff80, "-Infinity"],
  ],
  int8: [
    [-128, "-128"],
    [127, "127"],
  ],
  uint8: [[255, "255"]],
  int16: [[-32768, "-32768"]],
  uint16: [[65535, "65535"]],
  int32: [[-2147483648, "-2147483648"]],
  uint32: [[4294967295, "4294967295"]],
  int64: [
    [9223372036854775807n, "9223372036854775807"],
    [-9223372036854775808n, "-9223372036854775808"],
    [9007199254740993n, "9007199254740993"],
  ],
  uint64: [[18446744073709551615n, "18446744073709551615"]],
  bool: [
    [0, "false"],
    [1, "true"],
  ],
};

const texts = Object.entries(TEXTS).flatMap(([dtype, rows]) => rows.map((row) => [dtype as DType, ...row] as const));

describe("an answer's element", () => {
  test.each(texts)("of %s: %s is written %s", (dtype, value, text) => {
    expect(print(dtype, [value])).toBe(`[${text}]`);
    expect(print(dtype, [value, value], [2, 1])).toBe(`[[${text}], [${text}]]`);
    expect(print(dtype, [value], [])).toBe(text);
  });

  test.each([
    ["", '""'],
    ["abc", '"abc"'],
    ['"\\', '"\\"\\\\"'],
    ["\n\r\t\b\f", '"\\n\\r\\t\\b\\f"'],
    ["\0\u001f", '"\\u0000\\u001f"'],
    ["é€😀", '"é€😀"'],
    ["/", '"/"'],
    ["\u007f", '"\u007f"'],
  ])("of bytes: %j is written %s", (value, text) => {
    expect(print("bytes", [Buffer.from(value)])).toBe(`[${text}]`);
  });
});

/**
 * Values that C's printf gives with "%g", "%.9g" and "%.17g", by the rule of the original; and what json.dumps gives.
 */
const PYTHON_PROGRAM = `
import json, math, struct, sys
def number(value, bits):
    if math.isnan(value): return "NaN"
    if math.isinf(value): return "Infinity" if value > 0 else "-Infinity"
    short = "%.6g" % value
    back = float(short) if bits == 64 else struct.unpack("<f", struct.pack("<f", float(short)))[0]
    text = short if back == value else ("%.17g" if bits == 64 else "%.9g") % value
    return text if any(c in text for c in ".e") else text + ".0"
raw = sys.stdin.buffer.read()
doubles = struct.unpack("<%dd" % (len(raw) // 8), raw)
floats = struct.unpack("<%df" % (len(raw) // 4), raw)
integers = struct.unpack("<%dq" % (len(raw) // 8), raw)
texts = ["".join(chr(c % 0xd800) for c in struct.unpack("<4H", raw[i:i + 8])) for i in range(0, len(raw), 8)]
print(json.dumps({
    "doubles": " ".join(number(v, 64) for v in doubles),
    "floats": " ".join(number(v, 32) for v in floats),
    "written": [json.dumps(doubles), json.dumps(integers), json.dumps(texts), json.dumps(texts, ensure_ascii=False)],
}))
`;

const missing = missingPython("JSON as Python writes it", "json");

describe.skipIf(missing !== undefined)("random values", () => {
  const COUNT = 20_000;
  const random = new Random(16);
  const bits = Uint32Array.from({ length: 2 * COUNT }, () => random.below(2 ** 32));
  // Half of them in the range where people's numbers lie.
  const doubles = new Float64Array(bits.buffer);
  for (let index = 0; index < COUNT; index += 2) doubles[index] = (random.below(2e9) - 1e9) / 10 ** random.below(9);
  const answer = () => {
    const output = execFileSync(PYTHON, ["-c", PYTHON_PROGRAM], {
      input: Buffer.from(bits.buffer),
      maxBuffer: 2 ** 28,
    });
    return JSON.parse(output.toString()) as { doubles: string; floats: string; written: string[] };
  };

  test("are written as Python's formats write them, and read as json.dumps wrote them", () => {
    const python = answer();
    const plain = (text: string) => text.slice(1, -1).replaceAll(",", "");
    expect(plain(print("float64", [...doubles]))).toBe(python.doubles);
    expect(plain(print("float32", [...new Float32Array(bits.buffer)]))).toBe(python.floats);
    const [numbers = "", integers = "", escaped = "", raw = ""] = python.written;
    const shown = (values: Iterable<unknown>) => Array.from(values, (value) => show("float64", value)).join(" ");
    expect(parse("float64", numbers)).toBe(`[${COUNT}] ${shown(doubles)}`);
    expect(parse("int64", integers)).toBe(`[${COUNT}] ${shown(new BigInt64Array(bits.buffer))}`);
    expect(parse("bytes", escaped)).toBe(parse("bytes", raw));
    expect(
      JSON.parse(
        print(
          "bytes",
          (JSON.parse(raw) as string[]).map((text) => Buffer.from(text)),
        ),
      ),
    ).toEqual(JSON.parse(raw));
  });
});
