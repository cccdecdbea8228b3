import { expect, test } from "vitest";
import { prettyJson } from "../../src/page/api-document.ts";

test("JSON is laid out with every number as it was written", () => {
  const value = { a: [1, { "b, c": 'x: [\\ " {', d: {} }, [], null], e: true };
  expect(prettyJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(prettyJson(JSON.stringify(value, null, 1))).toBe(JSON.stringify(value, null, 2));
  expect(prettyJson('{"data":[9007199254740993,1.0,1e400,{ }]}')).toBe(
    '{\n  "data": [\n    9007199254740993,\n    1.0,\n    1e400,\n    {}\n  ]\n}',
  );
});

test("a text that is no JSON stays as it is", () => {
  expect(prettyJson("# HELP a, b: c {d}\n")).toBe("# HELP a, b: c {d}\n");
});
