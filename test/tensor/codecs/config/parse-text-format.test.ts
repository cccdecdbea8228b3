import { describe, expect, test } from "vitest";
import type { ConfigNode } from "../../../../src/tensor/codecs/config/config-node.ts";
import { parseTextFormat } from "../../../../src/tensor/codecs/config/parse-text-format.ts";

/** A tree as plain values; a map as a list of pairs, since keys may repeat. */
function plain(node: ConfigNode): unknown {
  if (node.kind === "map") return node.entries.map(({ key, value }) => [key, plain(value)]);
  return node.kind === "list" ? node.items.map(plain) : node.value;
}

const parse = (text: string) => plain(parseTextFormat(text, "f"));

describe("protobuf's text format has its liberties", () => {
  test.each([
    [
      "a colon before a message or none",
      "a { b: 1 } c: { d: 2 }",
      [
        ["a", [["b", 1n]]],
        ["c", [["d", 2n]]],
      ],
    ],
    [
      "angle brackets",
      "a < b: 1 > c: < >",
      [
        ["a", [["b", 1n]]],
        ["c", []],
      ],
    ],
    [
      "commas, semicolons or nothing between fields",
      "a: 1, b: 2; c: 3 d: 4",
      [
        ["a", 1n],
        ["b", 2n],
        ["c", 3n],
        ["d", 4n],
      ],
    ],
    ["comments", "# one\na: 1 # two\n# three", [["a", 1n]]],
    [
      "both quotes",
      `a: "it's" b: 'a "b"'`,
      [
        ["a", "it's"],
        ["b", 'a "b"'],
      ],
    ],
    ["texts in several parts, in both quotes", `a: "x" 'y'\n  # between\n "z"`, [["a", "xyz"]]],
    ["escapes", String.raw`a: "\n\t\"\\\101\x42\u00e9\U0001f600\303\251"`, [["a", '\n\t"\\ABé😀é']]],
    [
      "the short form of repeated fields",
      "a: [1, 2] b [{ c: 3 }, < c: 4 >] d: []",
      [
        ["a", [1n, 2n]],
        ["b", [[["c", 3n]], [["c", 4n]]]],
        ["d", []],
      ],
    ],
    [
      "repeated fields one by one",
      "a: 1 a: 2",
      [
        ["a", 1n],
        ["a", 2n],
      ],
    ],
    [
      "names of enums, and truths",
      "a: TYPE_FP32 b: true c: f",
      [
        ["a", "TYPE_FP32"],
        ["b", true],
        ["c", false],
      ],
    ],
    [
      "hexadecimal, octal and negative integers",
      "a: 0x1F b: 017 c: -5 d: - 6 e: 9223372036854775807",
      [
        ["a", 31n],
        ["b", 15n],
        ["c", -5n],
        ["d", -6n],
        ["e", 9223372036854775807n],
      ],
    ],
    [
      "floats",
      "a: 1.5 b: 2f c: .5 d: 1e3 e: -inf f: 3.",
      [
        ["a", 1.5],
        ["b", 2],
        ["c", 0.5],
        ["d", 1000],
        ["e", -Infinity],
        ["f", 3],
      ],
    ],
    [
      "extensions and Any",
      "[my.ext]: 5 [type.googleapis.com/a.B] { x: 1 }",
      [
        ["[my.ext]", 5n],
        ["[type.googleapis.com/a.B]", [["x", 1n]]],
      ],
    ],
    ["an empty file", " \n# nothing\n", []],
  ])("%s", (_, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test("each value knows its place", () => {
    const { entries } = parseTextFormat('a: 1\n  b {\n\tc: "x"\n}', "models.config");
    expect(entries[1]?.place).toEqual({ file: "models.config", line: 2, column: 3 });
    expect(entries[1]?.value).toMatchObject({ entries: [{ key: "c", place: { line: 3, column: 2 } }] });
  });
});

test.each([
  ["a field without a value", "a", 'f:1:2: "a" is followed by the end of the file; expected ":" and a value.'],
  ["a scalar without a colon", "a 1", 'f:1:3: "a" is followed by "1"; expected ":" and a value.'],
  [
    "a message that is not closed",
    "a {\n b: 1",
    'f:2:6: the end of the file is not a field\'s name; expected one, or "}".',
  ],
  ["the wrong bracket", "a { b: 1 >", 'f:1:10: ">" is not a field\'s name; expected one, or "}".'],
  ["a text that is not closed", 'a: "x\nb: 1', "f:1:4: A text has no closing quote on its line; expected one."],
  [
    "an unknown escape",
    String.raw`a: "\q"`,
    String.raw`f:1:4: A text has the escape \q, which does not exist; write a backslash as \\.`,
  ],
  [
    "bytes that are no UTF-8",
    String.raw`a: "\377"`,
    "f:1:4: A text's escapes are not valid UTF-8; expected text, not binary data.",
  ],
  ["a number with letters", "a: 10abc", 'f:1:4: "10a" is not a number; put a space, or quotes around a text.'],
  ["a list without a comma", "a: [1 2]", 'f:1:7: "2" stands in the list of "a"; expected "," or "]".'],
  ["a stray character", "a: 1 %", 'f:1:6: "%" has no meaning here; expected a field\'s name, or a text in quotes.'],
  ["a stray number", "7: 1", 'f:1:1: "7" is not a field\'s name; expected one.'],
])("%s is refused with its place", (_, text, message) => {
  expect(() => parseTextFormat(text, "f")).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
});

test("more values than any file has are refused", () => {
  expect(parseTextFormat("a:1 ".repeat(100_000), "f").entries).toHaveLength(100_000);
  expect(() => parseTextFormat("a:1 ".repeat(100_001), "f")).toThrow(
    "f:1:400003: The file has more than 100000 values.",
  );
  expect(() => parseTextFormat(`a:[${"1,".repeat(200_000)}1]`, "f")).toThrow("more than 100000 values");
});

test("what is nested without end is refused", () => {
  expect(() => parseTextFormat("a{".repeat(100_000), "f")).toThrow('"a" is nested deeper than 100.');
});

test("a file as large as may be is read, of whatever it consists", () => {
  const count = 4_000_000;
  expect(parse(`a: "${"\\n".repeat(count)}"`)).toEqual([["a", "\n".repeat(count)]]);
  expect(parse(`${" \r\n".repeat(count)}a: 1`)).toEqual([["a", 1n]]);
  expect(() => parse(`${"#\n".repeat(count)}!`)).toThrow(`f:${count + 1}:1: "!" has no meaning here`);
});
