import { describe, expect, test } from "vitest";
import { JsonWriter } from "../../../src/codecs/json/json-writer.ts";

function written(write: (writer: JsonWriter) => void): string {
  const writer = new JsonWriter();
  write(writer);
  return writer.finish().toString();
}

describe("JsonWriter", () => {
  test.each([0, 7, 10, 99, 100, 4294967295, -1, -2147483648, 2147483647, 1_000_000_000, 999_999_999])(
    "writes the integer %d",
    (value) => {
      expect(written((writer) => writer.integer(value))).toBe(String(value));
    },
  );

  test.each([0n, -9223372036854775808n, 18446744073709551615n])("writes the integer %d of 64 bits", (value) => {
    expect(written((writer) => writer.integer(value))).toBe(String(value));
  });

  test.each(["", "plain", 'é 日本 😀 " \\ \u0000', "x".repeat(5000)])("writes the string %.20j", (text) => {
    expect(written((writer) => writer.string(text))).toBe(JSON.stringify(text));
    expect(written((writer) => writer.text(Buffer.from(text)))).toBe(JSON.stringify(text));
  });

  test("writes each character as JSON does, alone and between others", () => {
    for (let code = 0; code <= 0x2100; code++) {
      const text = String.fromCharCode(code);
      for (const one of [text, `ab${text}c`]) {
        expect(written((writer) => writer.string(one))).toBe(JSON.stringify(one));
      }
    }
  });

  test("writes bytes as base64, also from within a larger buffer", () => {
    const bytes = Uint8Array.of(0, 1, 255, 254, 9).subarray(1, 4);
    expect(written((writer) => writer.base64(bytes))).toBe('"Af/+"');
  });

  test("writes to memory that it was given, as long as the text fits", () => {
    const memory = new Uint8Array(8);
    const writer = new JsonWriter(memory.subarray(2));
    writer.ascii("123456");
    expect(writer.finish().buffer).toBe(memory.buffer);
    expect([...memory]).toEqual([0, 0, ...Buffer.from("123456")]);
    writer.ascii("7");
    expect(writer.finish().toString()).toBe("1234567");
    expect(writer.finish().buffer).not.toBe(memory.buffer);
  });

  test("grows as far as it must", () => {
    const text = written((writer) => {
      for (let round = 0; round < 10_000; round++) writer.ascii("0123456789");
      writer.string("é".repeat(50_000));
    });
    expect(text).toBe("0123456789".repeat(10_000) + JSON.stringify("é".repeat(50_000)));
  });
});
