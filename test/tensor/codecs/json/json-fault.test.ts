import { describe, expect, test } from "vitest";
import { jsonFault } from "../../../../src/tensor/codecs/json/json-fault.ts";

const faultOf = (text: string) => jsonFault(Buffer.from(text))?.at;
const GOOD = [
  "0",
  "-0.5e+10",
  '"a"',
  "null",
  "[]",
  "{}",
  ' { "a" : [ 1 , -2.5E-3 , true , false , null , "\\u00e9\\"\\\\\\/\\b" ] , "" : { } } \r\n\t',
  '{"a":{"b":[[],[[]],{"c":{}}]},"a":"é日😀\u2028\u007f"}',
  '["\\ud83d","\\ude00"]',
  '\ufeff{"a":1}',
  `${"[".repeat(500)}${"]".repeat(500)}`,
];

test.each(GOOD)("there is none in %s", (text) => {
  JSON.parse(text.replace(/^\ufeff/, ""));
  expect(faultOf(text)).toBeUndefined();
});

test.each([
  ["", 0],
  ["[1,]", 3],
  ["[,1]", 1],
  ["[1,,2]", 3],
  ["[1 2]", 3],
  ["[1}", 2],
  ["{}}", 2],
  ["{} {}", 3],
  ["[1", 2],
  ['{"a"}', 4],
  ['{"a":}', 5],
  ['{"a":1,}', 7],
  ["{a:1}", 1],
  ['{"a":1 "b":2}', 7],
  ["01", 1],
  ["-", 1],
  ["+1", 0],
  [".5", 0],
  ["1.", 2],
  ["1.e1", 2],
  ["1e", 2],
  ["1e+", 3],
  ["NaN", 0],
  ["[Infinity]", 1],
  ["trux", 3],
  ["nul", 3],
  ['"a', 2],
  ['"a\nb"', 2],
  ['"\\x"', 2],
  ['"\\u12g4"', 2],
  ["'a'", 0],
  ["[1]\u00a0", 3],
  ["\ufeff\ufeff1", 3],
])("of %s is at byte %d", (text, place) => {
  expect(() => JSON.parse(text.replace(/^\ufeff/, ""))).toThrow();
  expect(faultOf(text)).toBe(place);
});

test("of a string that does not end is told", () => {
  const texts = ['"', '{"a', '{"a":"b\\"', '{"a":', "[1", ""];
  const isInString = (text: string) => jsonFault(Buffer.from(text))?.isInString;
  expect(texts.map(isInString)).toEqual([true, true, true, false, false, false]);
});

describe("of a text that is changed in one place", () => {
  const text = '{"a":[1,-2.5e3,true,null,"x\\n\\u00e9",{"b":{}}],"c":[[],[0]],"d":""}';
  const ALL = [...'{}[]:,"\\0-.e t1'];

  test.each(ALL)("JSON.parse finds one too: %s", (other) => {
    for (let at = 0; at < text.length; at++) {
      for (const changed of [text.slice(0, at) + other + text.slice(at + 1), text.slice(0, at) + text.slice(at + 1)]) {
        const isJson = faultOf(changed) === undefined;
        const parse = () => JSON.parse(changed);
        if (isJson) expect(parse, changed).not.toThrow();
        else expect(parse, changed).toThrow();
      }
    }
  });
});
