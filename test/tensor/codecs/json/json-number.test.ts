import { describe, expect, test } from "vitest";
import { JsonCursor } from "../../../../src/tensor/codecs/json/json-cursor.ts";
import { readNumber } from "../../../../src/tensor/codecs/json/json-number.ts";
import { NumberStore } from "../../../../src/tensor/codecs/json/json-value.ts";
import { Random } from "../../../grpc/random.ts";
import { ampleBudget } from "../../../proxy/ample-budget.ts";
import { randomNumber } from "../../../proxy/random-json.ts";

function read(text: string) {
  const cursor = new JsonCursor(Buffer.from(text));
  const store = new NumberStore(1, ampleBudget());
  readNumber(cursor, store);
  return { value: store.values[0], integral: store.fractions[0] === 0, exact: store.exact?.get(0), end: cursor.pos };
}

/** Reads a text as it stands, and in a list, where another byte follows it. */
function expectExact(text: string): void {
  const expected = JSON.parse(text) as number;
  const { value, end } = read(`${text},`);
  const alone = read(text).value;
  // A hundred thousand texts take seconds in expect.
  if (Object.is(value, expected) && Object.is(alone, expected) && end === text.length) return;
  expect({ text, value, alone, end }).toEqual({ text, value: expected, alone: expected, end: text.length });
}

describe("readNumber", () => {
  test("gives the very double that JSON.parse gives, for numbers of every form", () => {
    const random = new Random(2);
    for (let round = 0; round < 20_000; round++) expectExact(randomNumber(random));
  });

  test("gives the very double for the shortest texts of random doubles and floats", () => {
    const random = new Random(3);
    const bits = new BigUint64Array(1);
    const double = new Float64Array(bits.buffer);
    for (let round = 0; round < 20_000; round++) {
      bits[0] = new DataView(random.bytes(8).buffer).getBigUint64(0);
      if (Number.isFinite(double[0])) expectExact(String(double[0]));
      expectExact(String(Math.fround(random.below(2 ** 32) / 2 ** 32)));
      expectExact((random.below(2 ** 32) / 2 ** 32).toPrecision(1 + random.below(20)));
    }
  });

  test("rounds decimals right that are half way between two doubles, or very near to it", () => {
    const random = new Random(4);
    for (let round = 0; round < 5000; round++) {
      const odd = 2 ** 53 + 2 * random.below(2 ** 32) + 1;
      const half = 2n ** 53n + 2n * BigInt(random.below(2 ** 32)) + 1n;
      expectExact(String(odd));
      expectExact(`${half}`);
      expectExact(`${half}.0000000000000000001`);
      expectExact(`${half / 10_000_000n}.${String(half % 10_000_000n).padStart(7, "0")}`);
      expectExact(`${2 ** 49 + random.below(2 ** 32)}.${random.pick(["0625", "1875", "3125", "31250000001"])}`);
    }
  });

  test.each(["0", "-0", "0.0", "-0.0", "0e5", "1e-400", "5e-324", "2.4703282292062327e-324", "1.7976931348623157e308"])(
    "reads %s",
    expectExact,
  );

  test("knows an integer literal of up to 64 bits, and keeps it where a double does not", () => {
    expect(read("12")).toMatchObject({ integral: true, exact: undefined });
    expect(read("-9007199254740993")).toMatchObject({ integral: true, exact: -9007199254740993n });
    expect(read("9223372036854775808")).toMatchObject({ integral: true, exact: 9223372036854775808n });
    expect(read("18446744073709551615")).toMatchObject({ integral: true, exact: 18446744073709551615n });
    expect(read("9007199254740991")).toMatchObject({ integral: true, exact: undefined });
    expect(read("9007199254740992")).toMatchObject({ integral: true, exact: 9007199254740992n });
  });

  test.each(["1.0", "1e3", "18446744073709551616", "-9223372036854775809", "1000000000000000000000"])(
    "does not take %s for an integer literal",
    (text) => {
      expect(read(text)).toMatchObject({ integral: false, exact: undefined, value: Number(text) });
    },
  );

  test.each([
    ["-", "Invalid value. at offset: 1"],
    ["-a", "Invalid value. at offset: 1"],
    ["+1", "Invalid value. at offset: 0"],
    [".5", "Invalid value. at offset: 0"],
    ["1.", "Miss fraction part in number. at offset: 2"],
    ["1.e5", "Miss fraction part in number. at offset: 2"],
    ["1e", "Miss exponent in number. at offset: 2"],
    ["1.5e+", "Miss exponent in number. at offset: 5"],
    ["1e400", "Number too big to be stored in double. at offset: 0"],
    [`${"9".repeat(400)}`, "Number too big to be stored in double. at offset: 0"],
    ["In", "Invalid value. at offset: 0"],
  ])("refuses %j", (text, message) => {
    expect(() => read(text)).toThrow(`JSON Parse error: ${message}`);
  });

  test("stops at a second leading zero and at a second point", () => {
    expect(read("00")).toMatchObject({ value: 0, end: 1 });
    expect(read("1.5.5")).toMatchObject({ value: 1.5, end: 3 });
  });

  test("takes the words for infinities, as they are written", () => {
    expect(read("Infinity]")).toMatchObject({ value: Number.POSITIVE_INFINITY, end: 8, integral: false });
    expect(read("-Inf]")).toMatchObject({ value: Number.NEGATIVE_INFINITY, end: 4 });
    expect(() => read("infinity")).toThrow("Invalid value.");
  });
});
