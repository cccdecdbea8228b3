import { describe, expect, test } from "vitest";
import { JsonCursor, readKey, readString } from "../../../../src/tensor/codecs/json/json-cursor.ts";

function read(bytes: Uint8Array | string): string {
  return readString(new JsonCursor(Buffer.from(bytes)));
}

describe("readString", () => {
  test.each([
    "",
    "plain",
    "é ß 日本 😀",
    "\u0000 \n \u001f",
    '\\ " / \b\f\r\t',
    "a".repeat(100_000),
    "é".repeat(50_000),
  ])("reads what JSON.stringify writes of %.20j", (text) => {
    expect(read(JSON.stringify(text))).toBe(text);
  });

  test("reads every escape, and surrogates as one character", () => {
    expect(read('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\ud83d\\uDE00"')).toBe('"\\/\b\f\n\r\tAé😀');
  });

  test("moves behind the closing quote", () => {
    const cursor = new JsonCursor(Buffer.from('"aé" rest'));
    readString(cursor);
    expect(cursor.pos).toBe(5);
  });

  test.each([
    ['"abc', "Missing a closing quotation mark in string. at offset: 4"],
    ['"é', "Missing a closing quotation mark in string. at offset: 3"],
    ['"abc\\"', "Missing a closing quotation mark in string. at offset: 6"],
    ['"a\\x"', "Invalid escape character in string. at offset: 2"],
    ['"a\\', "Invalid escape character in string. at offset: 2"],
    ['"a\nb"', "Invalid escape character in string. at offset: 2"],
    ['"\\u12g4"', "Incorrect hex digit after \\u escape in string. at offset: 1"],
    ['"\\u12', "Incorrect hex digit after \\u escape in string. at offset: 1"],
    ['"\\ud800"', "The surrogate pair in string is invalid. at offset: 1"],
    ['"\\ud800\\u0041"', "The surrogate pair in string is invalid. at offset: 1"],
    ['"\\ud800\\n"', "The surrogate pair in string is invalid. at offset: 1"],
    ['"x\\udc00"', "The surrogate pair in string is invalid. at offset: 2"],
  ])("refuses %j", (text, message) => {
    expect(() => read(text)).toThrow(`JSON Parse error: ${message}`);
  });

  test.each([
    ["a lone continuation byte", [0x80]],
    ["a cut character", [0xc3]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a byte of no character", [0xff]],
  ])("refuses %s, which is not UTF-8", (_, bytes) => {
    expect(() => read(Uint8Array.of(0x22, 0x61, ...bytes, 0x22))).toThrow(
      "JSON Parse error: Invalid encoding in string. at offset: 2",
    );
  });
});

function readName(json: string): readonly [key: string, end: number] {
  const cursor = new JsonCursor(Buffer.from(`${json}:`));
  return [readKey(cursor), cursor.pos];
}

test("reads a name again and again, also after another of the same length and outer letters", () => {
  for (const name of ["instances", "inputs", "instances", "i-and-s", "i_and_s", "i-and-s", "x", "", "x"]) {
    expect(readName(`"${name}"`)).toEqual([name, name.length + 2]);
  }
});

test.each(["é", "a\\b", "日本", "n".repeat(65), "__proto__"])("reads the name %j like any other string", (name) => {
  const json = JSON.stringify(name);
  for (let round = 0; round < 2; round++) expect(readName(json)).toEqual([name, Buffer.byteLength(json)]);
});

test("refuses a name without an end", () => {
  expect(() => readName('"instances')).toThrow("Missing a closing quotation mark in string.");
});
