import { describe, expect, test } from "vitest";
import { checkMimeType, isLargeAnswer, toKibernetikaAnswer } from "../../../src/protocols/kibernetika/http-answer.ts";
import type { InferResponse } from "../../../src/serving/inference-service.ts";
import { createTensor, createTensors, type Tensor } from "../../../src/tensor/tensor.ts";

const PNG = Buffer.of(0x89, 0x50, 0x4e, 0x47);

interface Choice {
  readonly outFilter?: readonly string[];
  readonly outMimeType?: string;
  readonly contentType?: string;
}

function answer(outputs: Record<string, Tensor>, choice: Choice = {}) {
  const { contentType, outFilter = [], outMimeType = "" } = choice;
  const response: InferResponse = {
    model: "m",
    version: 1n,
    signature: "serving_default",
    outputs: { kind: "tensors", tensors: createTensors(Object.entries(outputs)) },
    metadata: { "x-hook": "1" },
    ...(contentType !== undefined && { contentType }),
  };
  return toKibernetikaAnswer(response, { outFilter, outMimeType });
}

function bytes(shape: readonly number[], ...elements: readonly Uint8Array[]): Tensor {
  return createTensor("bytes", shape, elements);
}

describe("toKibernetikaAnswer", () => {
  test("picks all of many outputs by name in a time that grows with their number", () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `n${index}`);
    const one = createTensor("uint8", [], Uint8Array.of(1));
    const { body } = answer(Object.fromEntries(names.map((name) => [name, one])), { outFilter: names.toReversed() });
    expect(Object.keys(JSON.parse(Buffer.from(body).toString()))).toEqual(names);
  });

  test.each<[string, Tensor, unknown]>([
    ["float32", createTensor("float32", [2, 1], Float32Array.of(0.5, 3)), [[0.5], [3]]],
    ["rank 0", createTensor("int32", [], Int32Array.of(-7)), -7],
    ["int8", createTensor("int8", [2], Int8Array.of(-128, 127)), [-128, 127]],
    ["uint8", createTensor("uint8", [2], Uint8Array.of(0, 255)), [0, 255]],
    ["int16", createTensor("int16", [1], Int16Array.of(-32768)), [-32768]],
    ["uint16", createTensor("uint16", [1], Uint16Array.of(65535)), [65535]],
    ["uint32", createTensor("uint32", [1], Uint32Array.of(4294967295)), [4294967295]],
    ["bool", createTensor("bool", [2], Uint8Array.of(1, 0)), [true, false]],
    ["float16", createTensor("float16", [1], Uint16Array.of(0x3e00)), [1.5]],
    ["NaN", createTensor("float32", [1], Float32Array.of(Number.NaN)), [null]],
    ["text", bytes([2], Buffer.from("a"), Buffer.from("é")), ["a", "é"]],
    ["bytes that are no text", bytes([1], PNG), ["iVBORw=="]],
  ])("writes %s as strict JSON", (_, tensor, value) => {
    const { contentType, body, headers } = answer({ y: tensor });
    expect([contentType, JSON.parse(body.toString()), headers]).toEqual([
      "application/json",
      { y: value },
      { "x-hook": "1" },
    ]);
  });

  test("writes 64-bit integers with every digit", () => {
    const data = BigInt64Array.of(9007199254740993n, -9223372036854775808n);
    expect(answer({ y: createTensor("int64", [2], data) }).body.toString()).toBe(
      '{"y":[9007199254740993,-9223372036854775808]}',
    );
    expect(answer({ y: createTensor("uint64", [], BigUint64Array.of(2n ** 64n - 1n)) }).body.toString()).toBe(
      '{"y":18446744073709551615}',
    );
  });

  test.each<[Tensor, number]>([
    [createTensor("float16", [2], Uint16Array.of(0x7c00, 0xfc00)), 65504],
    [createTensor("bfloat16", [2], Uint16Array.of(0x7f80, 0xff80)), 3.3895314e38],
    [createTensor("float32", [2], Float32Array.of(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)), 3.40282347e38],
    [
      createTensor("float64", [2], Float64Array.of(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)),
      Number.MAX_VALUE,
    ],
  ])("puts the largest value for infinities of %o", (tensor, largest) => {
    expect(JSON.parse(answer({ y: tensor }).body.toString())).toEqual({ y: [largest, -largest] });
  });

  test("keeps only the outputs that the filter names", () => {
    const outputs = { a: bytes([], Buffer.from("1")), b: bytes([], Buffer.from("2")) };
    expect(JSON.parse(answer(outputs).body.toString())).toEqual({ a: "1", b: "2" });
    expect(JSON.parse(answer(outputs, { outFilter: ["b", "nope"] }).body.toString())).toEqual({ b: "2" });
  });

  test.each([[[]], [[1]], [[1, 1]]])(
    "sends the only bytes of shape %j under the type that the client wants",
    (shape) => {
      expect(answer({ image: bytes(shape, PNG) }, { outMimeType: "image/png" })).toMatchObject({
        contentType: "image/png",
        body: PNG,
      });
    },
  );

  test("sends one of several outputs if the filter leaves no other", () => {
    const outputs = { image: bytes([1], PNG), label: bytes([], Buffer.from("cat")) };
    expect(answer(outputs, { outMimeType: "image/png", outFilter: ["image"] }).body).toEqual(PNG);
    expect(answer(outputs, { outMimeType: "text/plain", outFilter: ["label"] })).toMatchObject({
      contentType: "text/plain; charset=utf-8",
      body: Buffer.from("cat"),
    });
  });

  test("sends the type that a hook chose, rather than the client's", () => {
    const image = { image: bytes([], PNG) };
    expect(answer(image, { contentType: "image/jpeg" })).toMatchObject({ contentType: "image/jpeg", body: PNG });
    expect(answer(image, { contentType: "image/jpeg", outMimeType: "image/png" }).contentType).toBe("image/jpeg");
  });

  test("answers JSON where a hook chose a type for what is not one element of bytes", () => {
    const outputs = { image: bytes([], PNG), score: createTensor("float32", [], Float32Array.of(1)) };
    expect(answer(outputs, { contentType: "image/jpeg" }).contentType).toBe("application/json");
  });

  test("answers JSON to those who ask for JSON", () => {
    expect(answer({ y: bytes([], Buffer.from("a")) }, { outMimeType: "application/json" }).body.toString()).toBe(
      '{"y":"a"}',
    );
  });

  test("forbids browsers to run what it sends raw", () => {
    expect(answer({ y: bytes([], Buffer.from("<script>")) }, { outMimeType: "text/html" }).headers).toMatchObject({
      "content-security-policy": "sandbox",
    });
  });

  test.each<[Record<string, Tensor>, string]>([
    [{}, "none"],
    [{ y: createTensor("uint8", [4], PNG) }, "y: uint8 [4]"],
    [{ y: bytes([2], PNG, PNG) }, "y: bytes [2]"],
    [{ a: bytes([], PNG), b: bytes([1], PNG) }, "a: bytes [], b: bytes [1]"],
  ])("refuses to send anything but one element of bytes raw", (outputs, came) => {
    expect(() => answer(outputs, { outMimeType: "image/png" })).toThrow(
      expect.objectContaining({
        code: "invalid_argument",
        message: expect.stringContaining(
          `exactly one output, of dtype bytes and with one element, but there is ${came};`,
        ),
      }),
    );
  });

  test("calls an answer of the wrong kind the server's fault", () => {
    const response = {
      model: "m",
      version: 1n,
      signature: "",
      outputs: { kind: "json", json: PNG },
      metadata: {},
    } as const;
    expect(() => toKibernetikaAnswer(response, { outFilter: [], outMimeType: "" })).toThrow(
      expect.objectContaining({ code: "internal" }),
    );
  });
});

describe("checkMimeType", () => {
  test.each(["", "image/png", "text/plain; charset=utf-8", "application/vnd.x+json", 'text/x; a="b c"'])(
    "takes %j",
    (type) => {
      expect(() => checkMimeType(type)).not.toThrow();
    },
  );

  test.each([
    "png",
    "image/",
    "image/*",
    "image/png\r\nx-evil: 1",
    "image/png;",
    "text/plain; charset",
    "image/png\u0000",
  ])("refuses %j", (type) => {
    expect(() => checkMimeType(type)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });
});

test.each([
  ["JSON", "", true],
  ["JSON that is asked for", "application/json", true],
  ["its own bytes", "image/png", false],
])("a single large value that is sent as %s is written in a thread: %#", (_, outMimeType, isLarge) => {
  const value = createTensor("bytes", [1], [Buffer.alloc(1_000_000)]);
  const response = { outputs: { kind: "tensors", tensors: createTensors([["y", value]]) } } as const;
  expect(isLargeAnswer(response as never, { outFilter: [], outMimeType })).toBe(isLarge);
});
