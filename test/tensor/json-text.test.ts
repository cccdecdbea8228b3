import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { copyForJson, jsonPieces, toJsonText } from "../../src/tensor/json-text.ts";
import { markPlainLists } from "../../src/tensor/plain-list.ts";
import { createTensor } from "../../src/tensor/tensor.ts";

describe("JSON text", () => {
  test.each([
    ["a tensor", createTensor("float32", [2, 1], Float32Array.of(1, Number.NaN)), "[[1],[null]]"],
    ["a 64-bit integer", createTensor("int64", [], BigInt64Array.of(2n ** 62n)), "4611686018427387904"],
    ["bytes", createTensor("bytes", [2], [Buffer.from("a"), Buffer.of(0xff)]), '["a","/w=="]'],
    ["an empty tensor", createTensor("float32", [2, 0], new Float32Array()), "[[],[]]"],
    ["plain values", { a: undefined, b: [1n, "x"] }, '{"b":[1,"x"]}'],
    ["numbers", [1e21, 0.1, -0, Number.NaN, -Infinity, undefined, null], "[1e+21,0.1,0,null,null,null,null]"],
    ["a Date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["what has a toJSON", { a: { toJSON: () => ({ big: 1n }) } }, '{"a":{"big":1}}'],
    ["typed arrays", [Float32Array.of(0.5), BigInt64Array.of(3n), Buffer.from("a")], '[[0.5],[3],"a"]'],
    [
      "an instance of a class with members",
      new (class Face {
        readonly score = 1;
      })(),
      '{"score":1}',
    ],
    ["an object without a prototype", Object.assign(Object.create(null), { a: {} }), '{"a":{}}'],
  ])("of %s", (_, value, text) => {
    expect(toJsonText(value)).toBe(text);
  });

  test.each([
    ["a promise", { out: Promise.resolve(1) }, /^out is a promise, .* Was an await forgotten\?$/],
    [
      "one of another realm, deep within",
      { a: [1, { b: runInNewContext("Promise.resolve(1)") }] },
      /^a\[1\]\.b is a promise/,
    ],
    [
      "a Map",
      { faces: [new Map([[1, 2]])] },
      /^faces\[0\] is a Map, of which JSON would keep nothing; expected plain data/,
    ],
    ["a Set", new Set([1]), /^The value is a Set/],
    ["an Error", { a: new Error("x") }, /^a is a Error/],
    ["a DataView", { a: new DataView(new ArrayBuffer(1)) }, /^a is a DataView/],
    ["a function", { a: { b: () => 1 } }, /^a\.b is a function/],
    ["a symbol", [Symbol("x")], /^\[0\] is a symbol/],
  ])("is not made of %s, of which nothing would be left", (_, value, message) => {
    expect(() => toJsonText(value)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringMatching(message) }),
    );
  });

  test.each([
    '{"x":{"dtype":"float32","shape":[2],"data":[1,2]}}',
    '{"x":{"dtype":"f","shape":[60000,60000],"data":[]}}',
    '{"x":{"dtype":"float32","shape":[60000,60000],"data":[]}}',
  ])("of parsed JSON is that JSON: %s", (text) => {
    expect(toJsonText(JSON.parse(text))).toBe(text);
  });

  test.each([
    ['{"x":{"dtype":"bytes","shape":[60000,60000],"data":[]}}', "has 3600000000 values, but 0 were given"],
    ['{"x":{"dtype":"bytes","shape":[60000,60000,0],"data":[]}}', "has no elements, but 3600000000 empty lists"],
  ])("is not made of a shape that its data does not pay for: %s", (text, message) => {
    expect(() => toJsonText(JSON.parse(text))).toThrow(message);
  });
});

describe("JSON text in pieces", () => {
  const numbers = Array.from({ length: 40_000 }, (_, index) => (index % 3 === 0 ? index / 7 : index));
  const texts = Array.from({ length: 2000 }, (_, index) => `text ${index} é😀"`.repeat(20));
  const bytes = texts.map((text) => Buffer.from(text));

  test.each<[what: string, value: unknown, pieces: number]>([
    ["few values", { a: [1, "x"], b: createTensor("float32", [], Float32Array.of(1)) }, 1],
    ["numbers", { x: [...numbers, Number.NaN, -0, Number.POSITIVE_INFINITY] }, 2],
    ["numbers of a typed array", Float64Array.from(numbers), 2],
    ["64-bit integers", [BigInt64Array.from(numbers, (each) => BigInt(Math.trunc(each)))], 2],
    ["values of all kinds", { x: numbers.map((each) => [each, `${each}`, { each }, null, [[]]]), y: [], z: {} }, 2],
    ["long lists in lists", [numbers, [[numbers]], numbers], 9],
    ["an object of many members", Object.fromEntries(numbers.map((each, index) => [`k${index}`, each])), 2],
    ["members without a value", { a: undefined, b: numbers, c: undefined, d: 1 }, 2],
    ["texts", texts, 2],
    ["one text, whose pieces end between characters", `x${"é日😀".repeat(200_000)}`, 2],
    ["a tensor", createTensor("float32", [40_000, 1], Float32Array.from(numbers)), 2],
    [
      "a tensor of long rows",
      createTensor(
        "int64",
        [2, 20_000],
        BigInt64Array.from(numbers, () => 7n),
      ),
      4,
    ],
    ["complex numbers", createTensor("complex64", [20_000], Float32Array.from(numbers)), 2],
    ["a tensor of texts", { x: createTensor("bytes", [2000, 1], bytes) }, 2],
    ["what has a toJSON", { x: numbers, at: { big: numbers, toJSON: () => "own" } }, 2],
    ["an empty list beside many values", [numbers, [], createTensor("float32", [2, 0], new Float32Array())], 2],
  ])("is the same: %s", (_, value, pieces) => {
    const made = [...jsonPieces(value)];
    expect(made.length).toBeGreaterThanOrEqual(pieces);
    expect(Math.max(...made.map(({ length }) => length))).toBeLessThan(1_000_000);
    expect(made.join("") === toJsonText(value)).toBe(true);
  });

  test("names the place of what it is not made of", () => {
    const many = (bad: unknown) => ({ x: [numbers, { a: [...numbers, bad] }] });
    const textOf = (value: unknown) => [...jsonPieces(value)].join("");
    expect(() => textOf(many(new Map([[1, 2]])))).toThrow(/^x\[1\]\.a\[40000\] is a Map/);
    expect(() => textOf(many(Promise.resolve()))).toThrow(/^x\[1\]\.a\[40000\] is a promise/);
    const around: Record<string, unknown> = { self: [], x: numbers };
    around.self = [around];
    expect(() => textOf(around)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("contains itself") }),
    );
    const unpaid = createTensor("float32", [0], new Float32Array());
    expect(() => textOf([numbers, { ...unpaid, shape: [60_000, 60_000] }])).toThrow("but 0 were given");
  });
});

describe("a copy of what is to be written", () => {
  const packed = createTensor("bytes", [2], [new Uint8Array([65]), new Uint8Array([66])]);
  const values = {
    list: [1, 2.5, Number.NaN],
    rows: [[1], [2, [3]]],
    typed: new Float32Array([1.5, 2]),
    wide: new BigInt64Array([2n ** 60n]),
    bytes: Buffer.from("é"),
    tensor: createTensor("int32", [2, 1], new Int32Array([1, 2])),
    texts: packed,
    reused: createTensor("uint8", [2], Buffer.from([1, 2])),
    when: { toJSON: () => ["now"] },
    own: new (class Own {
      a = { b: true };
    })(),
    ["__proto__"]: { c: 1 },
    left: undefined,
  };

  test("has the same text, also when the values change", () => {
    const text = toJsonText(values);
    const copy = copyForJson(values);
    values.list[0] = 9;
    (values.rows[1] as unknown[])[0] = 9;
    values.typed[0] = 9;
    values.wide[0] = 9n;
    values.bytes[1] = 9;
    values.tensor.data[0] = 9;
    packed.data[0]![0] = 67;
    values.reused.data[0] = 9;
    values.own.a.b = false;
    values.when.toJSON = () => ["later"];
    expect(toJsonText(copy)).toBe(text);
    expect(toJsonText(values)).not.toBe(text);
  });

  test("is no tensor where JSON with the members of one was none", () => {
    const json: unknown = { x: { dtype: "bytes", shape: [1], data: [] } };
    markPlainLists(json);
    expect(toJsonText(copyForJson(json))).toBe('{"x":{"dtype":"bytes","shape":[1],"data":[]}}');
  });

  test("of what was given away is refused as that itself", () => {
    const tensor = createTensor("float32", [2], new Float32Array(2));
    const typed = new Float32Array(2);
    structuredClone(undefined, { transfer: [tensor.data.buffer as ArrayBuffer, typed.buffer] });
    expect(toJsonText(copyForJson({ typed }))).toBe('{"typed":[]}');
    expect(() => toJsonText(copyForJson({ tensor }))).toThrow("shape [2]");
  });

  test("is refused for the same reasons", () => {
    const endless: unknown[] = [];
    endless.push(endless);
    expect(() => copyForJson(endless)).toThrow("contains itself");
    const long: unknown[] = [];
    long.push(new Array(20_000).fill(1), long);
    expect(() => copyForJson(long)).toThrow("contains itself");
    for (const value of [Promise.resolve(1), new Map(), () => 1])
      expect(() => toJsonText(copyForJson({ a: [value] }))).toThrow(/^a\[0\] is a /);
  });
});
