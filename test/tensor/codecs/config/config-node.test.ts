import { expect, test } from "vitest";
import type { ConfigNode } from "../../../../src/tensor/codecs/config/config-node.ts";
import { parseJsonTree } from "../../../../src/tensor/codecs/config/config-node.ts";

function plain(node: ConfigNode): unknown {
  if (node.kind === "map") return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
  return node.kind === "list" ? node.items.map(plain) : node.value;
}

const parse = (text: string) => plain(parseJsonTree(text, "f"));

test.each([
  '{"a":[1.5,"x\\n\\u00e9",true,false,null,{"b":{}},[]]}',
  "[]",
  '"text"',
  " null ",
  '{"__proto__":"a"}',
  "[1e3,-0.5]",
])("reads what JSON.parse reads: %s", (text) => {
  expect(parse(text)).toEqual(JSON.parse(text));
});

test("integers are exact, and each value has its text and its place", () => {
  expect(parseJsonTree('{"a":\n  9223372036854775807,\n "b": 1.50}', "f")).toMatchObject({
    place: { file: "f", line: 1, column: 1 },
    entries: [
      {
        key: "a",
        place: { line: 1, column: 2 },
        value: { value: 9223372036854775807n, place: { line: 2, column: 3 } },
      },
      { key: "b", place: { line: 3, column: 2 }, value: { value: 1.5, text: "1.50", place: { line: 3, column: 7 } } },
    ],
  });
});

test.each([
  ["nothing", "", "f:1:1: The end of the text is not a value of JSON."],
  ["an open object", "{", "f:1:2: The end of the text is not a name; expected a text in double quotes."],
  ["an open text", '{"a": "b', 'f:1:7: "\\"" is not a value of JSON.'],
  ["a name without quotes", "{a: 1}", 'f:1:2: "a" is not a name'],
  ["a name without a value", '{"a" 1}', 'f:1:6: "1" follows a name; expected ":".'],
  ["values without a comma", "[1 2]", 'f:1:4: "2" follows a value; expected "," or "]".'],
  ["a comma too many", "[1,]", 'f:1:4: "]" is not a value of JSON.'],
  ["a number that is none", "[1.]", 'f:1:2: "1" is not a value of JSON.'],
  ["a number with a zero before", "[01]", 'f:1:2: "0" is not a value of JSON.'],
  ["a line break in a text", '["a\nb"]', "f:1:2: "],
  ["an unknown escape", '["\\x"]', "f:1:2: "],
  ["more than a value", "{}\n{}", 'f:2:1: "{" follows the value; expected the end.'],
  ["a name twice", '{"a": 1,\n"a": 2}', 'f:2:1: The object has a second "a".'],
  ["YAML", "a: &x 1\nb: *x\n", 'f:1:1: "a" is not a value of JSON.'],
  ["deep lists", "[".repeat(50_000), "f:1:102: Values are nested deeper than 100."],
  ["many values", `[${"1,".repeat(20_000)}1]`, "There are more than 10000 values."],
])("refuses %s", (_, text, message) => {
  expect(() => parseJsonTree(text, "f")).toThrow(message);
  expect(() => parseJsonTree(text, "f")).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});
