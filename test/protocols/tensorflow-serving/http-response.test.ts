import { describe, expect, test } from "vitest";
import { writePredictions } from "../../../src/protocols/tensorflow-serving/http-response.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

const ROWS = createTensor("float32", [3], Float32Array.of(2.5, 3, 4.5));
const MATRIX = createTensor("int32", [2, 2], Int32Array.of(1, 2, 3, 4));
const TEXTS = createTensor("bytes", [2], [Buffer.from("a"), Buffer.from("é")]);

function write(outputs: Record<string, Tensor>, format: "row" | "column"): string {
  return writePredictions(createTensors(Object.entries(outputs)), format).toString();
}

describe("writePredictions", () => {
  test("gives the rows of the only output without its name", () => {
    expect(write({ y: ROWS }, "row")).toBe('{\n    "predictions": [2.5, 3.0, 4.5\n    ]\n}');
    expect(write({ y: MATRIX }, "row")).toBe('{\n    "predictions": [[1, 2], [3, 4]\n    ]\n}');
  });

  test("gives rows of several outputs as objects", () => {
    expect(write({ m: MATRIX, t: TEXTS }, "row")).toBe(`{
    "predictions": [
        {
            "m": [1, 2],
            "t": "a"
        },
        {
            "m": [3, 4],
            "t": "é"
        }
    ]
}`);
  });

  test("gives whole outputs, the only one without its name", () => {
    expect(write({ y: MATRIX }, "column")).toBe('{\n    "outputs": [[1, 2], [3, 4]]\n}');
    expect(write({ y: createTensor("bool", [], Uint8Array.of(1)) }, "column")).toBe('{\n    "outputs": true\n}');
    expect(write({ m: MATRIX, t: TEXTS }, "column")).toBe(
      '{\n    "outputs": {\n        "m": [[1, 2], [3, 4]],\n        "t": ["a", "é"]\n    }\n}',
    );
  });

  test.each(["row", "column"] as const)(
    "gives a %s request the same values on one line where that is asked for",
    (format) => {
      for (const outputs of [{ y: ROWS }, { m: MATRIX, t: TEXTS }, {}]) {
        const tensors = createTensors(Object.entries(outputs));
        const line = writePredictions(tensors, format, true).toString();
        expect(line).not.toContain("\n");
        expect(JSON.parse(line)).toEqual(JSON.parse(writePredictions(tensors, format).toString()));
      }
    },
  );

  test("gives empty answers their form", () => {
    expect(JSON.parse(write({}, "row"))).toEqual({ predictions: [] });
    expect(JSON.parse(write({}, "column"))).toEqual({ outputs: {} });
    expect(JSON.parse(write({ y: createTensor("int32", [0, 2], new Int32Array(0)) }, "row"))).toEqual({
      predictions: [],
    });
  });

  test("encodes strings whose output is called bytes, and those that are no text", () => {
    const png = createTensor("bytes", [1], [Buffer.of(0x89, 0x50)]);
    expect(JSON.parse(write({ image_bytes: TEXTS }, "row"))).toEqual({
      predictions: [{ b64: "YQ==" }, { b64: "w6k=" }],
    });
    expect(JSON.parse(write({ image: png }, "column"))).toEqual({ outputs: [{ b64: "iVA=" }] });
  });

  test("writes what is not finite bare, as the original does", () => {
    const data = Float64Array.of(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
    expect(write({ y: createTensor("float64", [3], data) }, "column")).toBe(
      '{\n    "outputs": [NaN, Infinity, -Infinity]\n}',
    );
  });

  test("writes names with quotes and names of every object as data", () => {
    expect(write({ 'a"b': MATRIX, ["__proto__"]: MATRIX }, "column")).toContain('"a\\"b": [[1, 2]');
    expect(write({ 'a"b': MATRIX, ["__proto__"]: MATRIX }, "column")).toContain('"__proto__": [[1, 2]');
  });

  test.each<[Record<string, Tensor>, string]>([
    [{ y: createTensor("float32", [], Float32Array.of(1)) }, "Tensor name: y has no shape information "],
    [{ a: MATRIX, b: ROWS }, "Tensor name: b has inconsistent batch size: 3 expecting: 2"],
    [{ a: MATRIX, b: createTensor("float32", [], Float32Array.of(1)) }, "Tensor name: b has no shape information "],
  ])("refuses rows of outputs that have none in common", (outputs, message) => {
    expect(() => write(outputs, "row")).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });

  test("refuses complex numbers", () => {
    const complex = createTensor("complex128", [1], Float64Array.of(1, 2));
    expect(() => write({ y: complex }, "row")).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: "Failed to write JSON value for tensor type: complex128",
      }),
    );
  });
});
