import { expect, test } from "vitest";
import { NamePatterns, readRules } from "../../../src/access/rules/access-rules.ts";
import { parseYaml } from "../../../src/tensor/codecs/config/yaml.ts";

test.each([
  ["*", "", true],
  ["*", "any", true],
  ["a*", "abc", true],
  ["a*", "ba", false],
  ["*a", "ba", true],
  ["*a", "ab", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["ab*ba", "aba", false],
  ["*ab*ab", "ab", false],
  ["*ab*ab", "abab", true],
  ["a**b", "ab", true],
  ["a*b*c", "a-c-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["*-team-*-v*", "x-team-y-v1", true],
  ["*-team-*-v*", "x-team-v1", false],
  ["a.c*", "abc", false],
  ["*\n*", "a\nb", true],
  ["plain", "plain", true],
  ["plain", "plainer", false],
])("the pattern %o and the name %o: %o", (pattern, name, isMatch) => {
  expect(new NamePatterns([pattern]).matches(name)).toBe(isMatch);
});

test("of several patterns one is enough", () => {
  const patterns = new NamePatterns(["a*", "*z", "exact"]);
  expect(["apple", "jazz", "exact", "other"].map((name) => patterns.matches(name))).toEqual([true, true, true, false]);
});

test("agrees with a regular expression on every short name", () => {
  const names = [...combinations("ab", 5)];
  for (const text of combinations("ab*", 4)) {
    const expected = new RegExp(`^${text.replaceAll("*", ".*")}$`);
    const patterns = new NamePatterns([text]);
    const wrong = names.filter((name) => patterns.matches(name) !== expected.test(name));
    expect({ text, wrong }).toEqual({ text, wrong: [] });
  }
});

/** All texts of these characters up to a length. */
function* combinations(letters: string, length: number): Generator<string> {
  yield "";
  if (length === 0) return;
  for (const rest of combinations(letters, length - 1)) for (const letter of letters) yield letter + rest;
}

test("many stars and a long name end within the test's time", () => {
  const patterns = new NamePatterns(["*a*a*a*a*b", "*-team-*-v*"]);
  expect(patterns.matches("a".repeat(4_000_000))).toBe(false);
  expect(patterns.matches("-team-".repeat(500_000))).toBe(false);
});

const read = (text: string) => readRules(parseYaml(text, "rules.yaml"), "rules.yaml");

test("a rule lets its callers make its kinds of calls of its models", () => {
  const rules = read(`
allow:
  - { who: [alice, "token:*"], models: [resnet, team-*] }
  - { who: alice, models: extra }
  - { who: "*", kinds: metrics }
`);
  const alice = { names: ["alice"] } as const;
  const token = { names: ["token:ci", "cn:client1"] } as const;
  expect(rules.modelsFor(alice, "inference")?.texts).toEqual(["resnet", "team-*", "extra"]);
  expect(rules.modelsFor(token, "read")?.texts).toEqual(["resnet", "team-*"]);
  expect(rules.modelsFor(token, "control")).toBeUndefined();
  expect(rules.modelsFor({ names: ["bob"] }, "read")).toBeUndefined();
  expect(rules.modelsFor({ names: ["bob"] }, "metrics")?.isEvery).toBe(true);
  expect([rules.isOpen("health"), rules.isOpen("metrics")]).toEqual([true, false]);
  expect(rules.modelsFor(alice, "priority")).toBeUndefined();
  const models = rules.modelsFor(token, "inference");
  expect(["resnet", "team-", "team-a", "resnet2", "xteam-a", ""].map((name) => models?.matches(name))).toEqual([
    ...[true, true, true],
    ...[false, false, false],
  ]);
});

test.each([
  ["", "rules.yaml:1:1: The file has no rules"],
  ["[]", "rules.yaml:1:1: The file has no rules"],
  ["alow: []", 'rules.yaml:1:1: There is no key "alow". Did you mean "allow"?'],
  ["allow: {}", "Expected a list of rules"],
  ["allow: [{ kinds: [infer] }]", "The rule names no caller"],
  ["allow: [{ who: [a], kinds: [run] }]", 'rules.yaml:1:29: There is no kind "run" of calls.'],
  ["allow: [{ who: [[a]] }]", "Expected a text"],
  ["allow: [{ who: a, kinds: metrics, models: m }]", "Metrics are about all models"],
  ["allow: [a]", "rules.yaml:1:9: A rule is keys and values"],
  ['allow: [{ who: "" }]', "Expected a text"],
  ["open: [control]", "never open to everybody"],
  ["open: [priority]", "Priority before others is for callers with a name"],
])("%j is refused with its place", (text, message) => {
  expect(() => read(text)).toThrow(message);
});

test("priority before others is for whom a rule names, also where there are no rules", () => {
  const rules = read('allow: [{ who: alice, kinds: [infer, priority], models: "team-*" }]');
  expect(rules.modelsFor({ names: ["alice"] }, "priority")?.texts).toEqual(["team-*"]);
  expect(rules.modelsFor({ names: ["bob"] }, "priority")).toBeUndefined();
  expect(read("open: [health]").modelsFor({ names: ["alice"] }, "priority")).toBeUndefined();
});

test("without a list of rules, who is known may make all kinds of calls of all models", () => {
  const rules = read("open: [metrics]");
  for (const kind of ["inference", "read", "control"] as const)
    expect(rules.modelsFor({ names: ["alice"] }, kind)?.isEvery).toBe(true);
  expect([rules.isOpen("metrics"), rules.isOpen("health"), rules.isOpen("page")]).toEqual([true, false, true]);
});
