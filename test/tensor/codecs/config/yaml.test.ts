import { describe, expect, test } from "vitest";
import { parse as parseAsIs } from "yaml";
import type { ConfigNode } from "../../../../src/tensor/codecs/config/config-node.ts";
import { parseYaml, writeYaml } from "../../../../src/tensor/codecs/config/yaml.ts";

function plain(node: ConfigNode | undefined): unknown {
  if (node === undefined) return undefined;
  if (node.kind === "map") return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
  return node.kind === "list" ? node.items.map(plain) : node.value;
}

const parse = (text: string) => plain(parseYaml(text, "f"));

test("texts that YAML 1.1 would take for something else are written so that its readers find texts", () => {
  const texts = { user: "1000:0", ports: ["9000:22"], name: "on", answer: "yes", day: "2026-11-30", mode: "010" };
  const written = writeYaml(texts);
  for (const version of ["1.1", "1.2"] as const) expect(parseAsIs(written, { version })).toEqual(texts);
});

test("YAML and JSON are read alike, integers exactly", () => {
  const value = { models: [{ name: "a", versions: [9223372036854775807n], on: true, none: null, share: 0.5 }] };
  expect(
    parse("models:\n  - name: a\n    versions: [9223372036854775807]\n    on: true\n    none:\n    share: 0.5\n"),
  ).toEqual(value);
  expect(
    parse('{"models":[\n\t{"name":"a","versions":[9223372036854775807],\n\t"on":true,"none":null,"share":0.5}]}'),
  ).toEqual(value);
});

test("a scalar keeps its text as written, and each value its place", () => {
  const node = parseYaml("a: 007\nb:\n  c: 1.0\n", "f.yaml");
  expect(node).toMatchObject({
    entries: [
      {
        key: "a",
        place: { file: "f.yaml", line: 1, column: 1 },
        value: { text: "007", place: { line: 1, column: 4 } },
      },
      { value: { entries: [{ key: "c", place: { line: 3, column: 3 }, value: { text: "1.0" } }] } },
    ],
  });
});

test("an alias stands for what it names", () => {
  expect(parse("a: &x { b: 1 }\nc: *x\n")).toEqual({ a: { b: 1n }, c: { b: 1n } });
});

test("an alias stands for the last value of its name before it", () => {
  expect(parse("a: &x 1\nb: *x\nc: &x 2\nd: [*x, *x]\n")).toEqual({ a: 1n, b: 1n, c: 2n, d: [2n, 2n] });
});

test("many aliases and many keys end within the test's time", () => {
  const many = (one: (index: number) => string) => Array.from({ length: 20_000 }, (_, index) => one(index)).join("");
  expect(parseYaml(`a: &x 1\nb: [${many(() => "*x,")}]`, "f")).toMatchObject({ kind: "map" });
  expect(
    parseYaml(
      many((index) => `k${index}: 1\n`),
      "f",
    ),
  ).toMatchObject({ kind: "map" });
});

test.each(["", "\n", "# nothing\n", "---\n"])("a file without content has no value: %j", (text) => {
  expect(parse(text)).toBeOneOf([undefined, null]);
});

describe("refused with its place", () => {
  test.each([
    ["a key twice", "a: 1\na: 2\n", "f:2:1: Map keys must be unique"],
    ["an open bracket", '{"a": [1, 2', "f:1:12: Flow sequence in block collection must be sufficiently indented"],
    ["a tab that indents", "a:\n\tb: 1\n", "f:2:1: "],
    ["a second document", "a: 1\n---\nb: 2\n", "f:2:1: A second document begins here; expected one."],
    ["an unknown alias", "a: *x\n", "f:1:4: "],
    ["a list as a key", "? [1, 2]\n: 3\n", "f:1:1: A key is not a single value; expected a name."],
  ])("%s", (_, text, message) => {
    expect(() => parseYaml(text, "f")).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    expect(() => parseYaml(text, "f")).toThrow(message);
  });

  test("what aliases make enormous", () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(9)}]`,
    );
    expect(() => parseYaml(`a0: &a0 [1]\n${levels.join("\n")}\n`, "f")).toThrow("more than 100000 values");
  });

  test("an alias of what it stands in", () => {
    expect(() => parseYaml("a: &x\n  b: *x\n", "f")).toThrow("deeper than 100");
  });

  test.each([
    ["lists", "[".repeat(50_000), "f:1:102: "],
    ["maps", "{a: ".repeat(50_000), "f:1:405: "],
    ["lists as items", "- ".repeat(50_000), "f:1:203: "],
  ])("%s that are nested without end", (_, text, place) => {
    expect(() => parseYaml(text, "f")).toThrow(`${place}Values are nested deeper than 100.`);
  });

  test("one list too many", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(parseYaml(nested(101), "f")).toMatchObject({ kind: "list" });
    expect(() => parseYaml(nested(102), "f")).toThrow("Values are nested deeper than 100.");
  });
});
