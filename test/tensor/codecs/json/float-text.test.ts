import { describe, expect, test } from "vitest";
import { slowFloatText } from "../../../../src/tensor/codecs/json/float-layout.ts";
import { MAX_FLOAT_BYTES, writeFloat32, writeFloat64 } from "../../../../src/tensor/codecs/json/float-text.ts";
import { Random } from "../../../grpc/random.ts";

type WriteFloat = typeof writeFloat64;

const writeRounded: WriteFloat = (text, start, value) => writeFloat32(text, start, float32Bits(value));

function float32Bits(value: number): number {
  const bits = new DataView(new ArrayBuffer(4));
  bits.setFloat32(0, value);
  return bits.getInt32(0);
}

function text(write: WriteFloat, value: number): string {
  const buffer = Buffer.alloc(MAX_FLOAT_BYTES);
  return buffer.toString("latin1", 0, write(new DataView(buffer.buffer, buffer.byteOffset, buffer.length), 0, value));
}

/** Any finite bit pattern, many magnitudes, many round numbers. */
function* randomNumbers(random: Random, count: number): Generator<number> {
  const bits = new DataView(new ArrayBuffer(8));
  for (let round = 0; round < count; round++) {
    bits.setUint32(0, random.below(2 ** 32));
    bits.setUint32(4, random.below(2 ** 32));
    yield bits.getFloat64(0);
    yield bits.getFloat32(0);
    yield random.below(2 ** 32) / 2 ** 32;
    yield (random.below(2_000_000) - 1_000_000) / 10 ** random.below(12);
    yield random.below(2 ** 24) / 2 ** random.below(40);
    yield (random.below(2 ** 32) / 2 ** 32) * 10 ** (random.below(40) - 20);
  }
}

describe("writeFloat32", () => {
  // Texts that C's printf gives for "%g", or "%.9g" if six digits do not bring the float back.
  test.each([
    [0, "0.0"],
    [-0, "-0.0"],
    [1, "1.0"],
    [-2.5, "-2.5"],
    [0.2, "0.2"],
    [100, "100.0"],
    [999999, "999999.0"],
    [1e6, "1e+06"],
    [9000000, "9e+06"],
    [1234567, "1234567.0"],
    [555557.5, "555557.5"],
    [0.0001, "0.0001"],
    [0.00003, "3e-05"],
    [0.00012345678, "0.000123456775"],
    [1 / 3, "0.333333343"],
    [1234567.125, "1234567.12"],
    [1234567.375, "1234567.38"],
    [16777216, "16777216.0"],
    [1e-4 * (1 + 2 ** -20), "0.000100000092"],
    [0.0099999998, "0.01"],
    [9.999999, "9.99999905"],
    [99.99999, "99.9999924"],
    [123.4, "123.4"],
    [120, "120.0"],
    [999.99994, "999.999939"],
    [999999.94, "999999.938"],
    [536870912, "536870912.0"],
    [999999936, "999999936.0"],
    [1000000000, "1e+09"],
    [1e10, "1e+10"],
    [123456789012, "1.23456791e+11"],
    [3.4028234663852886e38, "3.40282347e+38"],
    [1.401298464324817e-45, "1.4013e-45"],
    [1.17549435e-38, "1.17549435e-38"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
  ])("writes %d as %s", (value, expected) => {
    expect(text(writeRounded, value)).toBe(expected);
  });

  test("writes the neighbours of all powers of two and of ten by the same rules", () => {
    const powersOfTwo = Array.from({ length: 253 }, (_, power) => 2 ** (power - 126));
    const powersOfTen = Array.from({ length: 76 }, (_, power) => 10 ** (power - 37));
    const bits = new Int32Array(1);
    for (const power of [...powersOfTwo, ...powersOfTen]) {
      for (let step = -40; step <= 40; step++) {
        bits[0] = float32Bits(power) + step;
        const [value] = new Float32Array(bits.buffer) as unknown as [number];
        const [written, expected] = [text(writeRounded, value), slowFloatText(value, "float32")];
        if (written !== expected) expect(written).toBe(expected);
      }
    }
  });

  test("writes what brings every float back, in six digits where they do, else in nine at most", () => {
    for (const number of randomNumbers(new Random(5), 5000)) {
      const value = Math.fround(number);
      const written = text(writeRounded, value);
      expectDigits(written, value, { round: Math.fround, most: 9 });
    }
  });
});

describe("writeFloat64", () => {
  test.each([
    [0, "0.0"],
    [-0, "-0.0"],
    [0.1, "0.1"],
    [1 / 3, "0.33333333333333331"],
    [0.1 + 0.2, "0.30000000000000004"],
    [123456, "123456.0"],
    [1234567, "1234567.0"],
    [1e-5, "1e-05"],
    [1.5e-5, "1.5e-05"],
    [0.000012345678, "1.2345677999999999e-05"],
    [2 ** 50 + 0.25, "1125899906842624.2"],
    [2 ** 50 + 0.75, "1125899906842624.8"],
    [2 ** 53, "9007199254740992.0"],
    [1e16, "1e+16"],
    [123456789012345680000, "1.2345678901234568e+20"],
    [1e22, "1e+22"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [5e-324, "4.94066e-324"],
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
  ])("writes %d as %s", (value, expected) => {
    expect(text(writeFloat64, value)).toBe(expected);
  });

  test("writes what brings every double back, in six digits where they do, else in seventeen at most", () => {
    for (const value of randomNumbers(new Random(6), 5000)) {
      expectDigits(text(writeFloat64, value), value, { round: Number, most: 17 });
    }
  });
});

interface Expectation {
  readonly round: (parsed: number) => number;
  readonly most: number;
}

/** Says nothing of what is right: thousands of texts take seconds in expect. */
function expectDigits(written: string, value: number, { round, most }: Expectation): void {
  if (!Number.isFinite(value)) {
    expect(written).toBe(String(value));
    return;
  }
  const back = round(Number(written));
  if (!Object.is(back, value)) expect({ written, value: back }).toEqual({ written, value });
  if (!/[.e]/.test(written)) expect(written).toMatch(/[.e]/);
  const isShort = round(Number(value.toPrecision(6))) === value;
  const mantissa = written
    .replace(/^-|e.*$/g, "")
    .replace(".", "")
    .replace(/^0+|0+$/g, "");
  if (mantissa.length > (isShort ? 6 : most)) expect.fail(`${written} has more digits than bring ${value} back`);
}
